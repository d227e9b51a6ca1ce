/** An agent for tests that misbehaves, as a program that writes raw lines: `argv[2]` says how. */

type Request = { readonly id?: number | string; readonly method?: string };

const how = process.argv[2] ?? "";
let buffered = "";

function write(text: string | Uint8Array): void {
  process.stdout.write(text);
}
function send(message: unknown): void {
  write(`${JSON.stringify(message)}\n`);
}
function update(body: unknown): void {
  send({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "s", update: body } });
}
function answer({ id }: Request, result: unknown): void {
  send({ jsonrpc: "2.0", id, result });
}
function chunk(text: string): unknown {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

function onPrompt(request: Request): void {
  switch (how) {
    case "garbage":
      write("Loading model...\n{ not json\n[1,2]\n");
      write(Buffer.from([0xff, 0xfe, 0x0a]));
      write(`${"x".repeat(33_554_500)}\n`);
      write(`{"jsonrpc":"2.0","method":"session/update","params":${"[".repeat(10_000)}${"]".repeat(10_000)}}\n`);
      break;
    case "updates":
      update({ sessionUpdate: "hologram" });
      update({ sessionUpdate: "agent_message_chunk" });
      update({ sessionUpdate: "agent_message_chunk", content: { type: "smell" } });
      update({
        sessionUpdate: "tool_call_update",
        toolCallId: "never-announced",
        status: "completed",
        content: [{ type: "diff" }, 5, null],
      });
      update({ sessionUpdate: "tool_call", toolCallId: 7 });
      update({ sessionUpdate: "plan", entries: "all" });
      update(null);
      send({ jsonrpc: "2.0", method: "session/update", params: 5 });
      send({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "another", update: chunk("not mine") } });
      break;
    case "ids":
      send({ jsonrpc: "2.0", id: 4_711, result: { stopReason: "refusal" } });
      send({ jsonrpc: "2.0", id: null, result: {} });
      send({ jsonrpc: "2.0", id: "x", error: { code: 1, message: "no" } });
      break;
    case "requests":
      send({ jsonrpc: "2.0", id: "r1", method: "fs/read_text_file", params: { sessionId: "s", path: "/etc/passwd" } });
      send({ jsonrpc: "2.0", id: "r2", method: "terminal/create", params: { sessionId: "s", command: "id" } });
      send({
        jsonrpc: "2.0",
        id: "r3",
        method: "session/request_permission",
        params: { sessionId: "s", toolCall: {}, options: 5 },
      });
      send({
        jsonrpc: "2.0",
        id: "r4",
        method: "session/request_permission",
        params: { sessionId: "other", toolCall: { toolCallId: "c" }, options: [] },
      });
      break;
    case "flood":
      for (let index = 0; index < 20_000; index += 1) update(chunk("0123456789".repeat(100)));
      break;
    default:
      break;
  }
  update(chunk("fine"));
  if (how === "stop") return answer(request, { stopReason: "exploded" });
  if (how === "nothing") return answer(request, null);
  if (how !== "requests") answer(request, { stopReason: "end_turn" });
  else waiting = request;
}

let waiting: Request | undefined;
const answered: string[] = [];

function onLine(line: string): void {
  const message = JSON.parse(line) as Request & {
    readonly error?: { readonly code: number };
    readonly result?: unknown;
  };
  const { method, id } = message;
  if (method === "initialize") {
    if (how === "version") answer(message, { protocolVersion: 9 });
    else if (how === "list") answer(message, []);
    else if (how !== "silent") answer(message, { protocolVersion: 1, agentCapabilities: how === "odd" ? "all" : {} });
  } else if (method === "session/new") answer(message, how === "no-session" ? {} : { sessionId: "s" });
  else if (method === "session/prompt") onPrompt(message);
  else if (method === undefined && waiting !== undefined) {
    answered.push(`${id}:${message.error?.code ?? JSON.stringify(message.result)}`);
    if (answered.length < 4) return;
    update(chunk(answered.toSorted().join(" ")));
    answer(waiting, { stopReason: "end_turn" });
  }
}

process.stdin.setEncoding("utf8").on("data", (text: string) => {
  const lines = `${buffered}${text}`.split("\n");
  buffered = lines.pop() ?? "";
  for (const line of lines) onLine(line);
});
process.stdin.on("end", () => process.exit(0));
