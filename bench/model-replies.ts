/** Bytes of scripted answers of the Messages API: a turn of tool calls, or a text of many deltas. */

export const WORDS: readonly string[] =
  " the quick model reads every line of the file and says what it found there before it goes on".split(/(?= )/);
const PIECE = 12;

export function textReply(deltas: number): Buffer {
  const events = Array.from({ length: deltas }, (_, index) =>
    event({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: WORDS[index % WORDS.length] ?? "" },
    }),
  );
  const start = event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  return Buffer.from(head() + start + events.join("") + blockStop(0) + tail("end_turn", deltas));
}

/** A short text, then `calls` calls of the tool `look` whose ids no other turn uses. */
export function toolReply(turn: number, calls: number): Buffer {
  const saying = [" I", " look", " at", ` file ${turn}.`].map((text) =>
    event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
  );
  const start = event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  const blocks = Array.from({ length: calls }, (_, at) => callBlock(turn, at));
  return Buffer.from(
    head() + start + saying.join("") + blockStop(0) + blocks.join("") + tail("tool_use", 20 + calls * 30),
  );
}

function callBlock(turn: number, at: number): string {
  const index = at + 1;
  const id = `toolu_${turn}_${at}`;
  const json = JSON.stringify({ path: `src/folder/file-${turn}.ts`, line: at, context: 12 });
  const pieces = ["", ...(json.match(new RegExp(`.{1,${PIECE}}`, "g")) ?? [])];
  const start = event({
    type: "content_block_start",
    index,
    content_block: { type: "tool_use", id, name: "look", input: {} },
  });
  const deltas = pieces.map((piece) =>
    event({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: piece } }),
  );
  return start + deltas.join("") + blockStop(index);
}

function head(): string {
  const usage = {
    input_tokens: 12,
    cache_creation_input_tokens: 300,
    cache_read_input_tokens: 2_000,
    output_tokens: 1,
  };
  const message = { id: "msg_bench", type: "message", role: "assistant", model: "claude-bench", content: [] };
  return (
    event({ type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage } }) +
    event({ type: "ping" })
  );
}

function blockStop(index: number): string {
  return event({ type: "content_block_stop", index });
}

function tail(reason: string, outputTokens: number): string {
  const usage = { output_tokens: outputTokens };
  return (
    event({ type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage }) +
    event({ type: "message_stop" })
  );
}

function event(data: { readonly type: string; readonly [name: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
