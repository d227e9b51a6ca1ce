/** Answers of chat completion servers as chunks and their bytes, for scripted servers. Pure. */

import { createHash } from "node:crypto";

/** The data of one event; sent as JSON, or as it is when it is a string. A string that begins with ":" is a comment. */
export type ChatChunk = string | { readonly [name: string]: unknown };

export type ChatReplyCall = {
  readonly name: string;
  readonly input?: unknown;
  readonly id?: string;
  /** In place of the text of `input`, to send what is not valid. */
  readonly json?: string;
};

export type ChatAnswer = {
  readonly reasoning?: string;
  readonly text?: string;
  /** In place of pieces of a fixed size. */
  readonly deltas?: readonly string[];
  readonly refusal?: string;
  readonly calls?: readonly ChatReplyCall[];
  /** Default: `tool_calls` when there are calls, else `stop`. */
  readonly finishReason?: string;
};

/** The member in which a server streams reasoning. */
export type ReasoningMember = "reasoning" | "reasoning_content" | "reasoning_details";

export type ChatHead = { readonly id: string; readonly model: string; readonly reasoning: ReasoningMember };

/** Texts are cut at this many characters, as servers cut them anywhere. */
const PIECE = 12;

/** The chunks of a whole answer; `usage` comes on a last one of its own, as OpenAI sends it. */
export function answerChunks(head: ChatHead, answer: ChatAnswer, usage: object | undefined): ChatChunk[] {
  const { calls = [] } = answer;
  const finish = answer.finishReason ?? (calls.length > 0 ? "tool_calls" : "stop");
  return [
    chatChunk(head, { role: "assistant", content: "" }),
    ...reasoningDeltas(head.reasoning, answer.reasoning ?? "").map((delta) => chatChunk(head, delta)),
    ...(answer.deltas ?? pieces(answer.text ?? "")).map((content) => chatChunk(head, { content })),
    ...pieces(answer.refusal ?? "").map((refusal) => chatChunk(head, { refusal })),
    ...calls.flatMap((call, index) => callDeltas(call, index, head.id)).map((delta) => chatChunk(head, delta)),
    chatChunk(head, {}, finish),
    ...(usage === undefined ? [] : [{ ...envelope(head), choices: [], usage }]),
    "[DONE]",
  ];
}

export function chatChunk(head: ChatHead, delta: object, finishReason: string | null = null): ChatChunk {
  return { ...envelope(head), choices: [{ index: 0, delta, finish_reason: finishReason }] };
}

export function chatBytes(chunks: readonly ChatChunk[]): Buffer {
  const lines = chunks.map((chunk) => {
    if (typeof chunk !== "string") return `data: ${JSON.stringify(chunk)}`;
    return chunk.startsWith(":") ? chunk : `data: ${chunk}`;
  });
  return Buffer.from(lines.map((line) => `${line}\n\n`).join(""));
}

/** The details that a scripted server gives for a reasoning, and expects back. */
export function issuedDetails(reasoning: string): readonly object[] {
  const signature = `sig_${createHash("sha256").update(reasoning).digest("base64url")}`;
  const format = "anthropic-claude-v1";
  return [{ type: "reasoning.text", text: reasoning, index: 0, format, signature }];
}

function envelope({ id, model }: ChatHead): object {
  return { id, object: "chat.completion.chunk", created: 1_795_000_000, model };
}

function reasoningDeltas(member: ReasoningMember, reasoning: string): readonly object[] {
  if (reasoning === "") return [];
  if (member !== "reasoning_details") return pieces(reasoning).map((piece) => ({ [member]: piece }));
  const [whole] = issuedDetails(reasoning);
  const { signature, ...detail } = { signature: "", ...whole };
  const deltas = pieces(reasoning).map((text) => ({ reasoning: text, reasoning_details: [{ ...detail, text }] }));
  return [...deltas, { reasoning_details: [{ ...detail, text: "", signature }] }];
}

function callDeltas(call: ChatReplyCall, index: number, answerId: string): readonly object[] {
  const id = call.id ?? `call_${answerId.replaceAll(/\W/g, "")}_${index}`;
  const start = { index, id, type: "function", function: { name: call.name, arguments: "" } };
  const json = call.json ?? JSON.stringify(call.input ?? {});
  const deltas = pieces(json).map((text) => ({ index, function: { arguments: text } }));
  return [start, ...deltas].map((delta) => ({ tool_calls: [delta] }));
}

/** Never in the middle of a character. */
function pieces(text: string): readonly string[] {
  return text.match(new RegExp(`[^]{1,${PIECE}}`, "gu")) ?? [];
}
