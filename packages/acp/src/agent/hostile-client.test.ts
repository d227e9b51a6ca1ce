import { PassThrough, type Duplex, Writable } from "node:stream";
import { agent, memoryStore, openRuntime, type Runtime, storeEngine, systemClock, systemIds } from "@capstan/core";
import { scriptedModel, type ScriptedReply } from "@capstan/core/testing";
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { ACP_LIMITS } from "../limits.ts";
import { type AcpDoor, serveAcp } from "./serve-acp.ts";

type Answer = {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly update?: { readonly sessionUpdate: string } };
  readonly result?: { readonly sessionId?: string; readonly stopReason?: string };
  readonly error?: { readonly code: number; readonly message: string };
};
type Raw = AsyncDisposable & {
  readonly input: PassThrough;
  readonly lines: string[];
  readonly door: AcpDoor;
  readonly runtime: Runtime;
  send(...messages: readonly unknown[]): void;
  /** The answer to this id, when it comes. */
  answer(id: unknown): Promise<Answer>;
  readonly answers: () => readonly Answer[];
  begin(): Promise<string>;
};

async function raw(turns: readonly ScriptedReply[] = [], output: Writable = new PassThrough()): Promise<Raw> {
  const clock = systemClock;
  const engine = storeEngine(memoryStore(), { clock, ids: systemIds(() => clock.now()) });
  const guide = agent({ name: "guide", model: scriptedModel(turns), instructions: "Guide." });
  const workspaces = {
    local: async (root: string) =>
      ({ kind: "local", root, confinement: "none", close: async () => undefined }) as never,
  };
  const runtime = await openRuntime({ agents: [guide], engine, workspaces });
  const input = new PassThrough();
  const door = serveAcp({ runtime, agent: guide, input, output, log: () => undefined });
  const lines: string[] = [];
  let rest = "";
  if (output instanceof PassThrough)
    output.setEncoding("utf8").on("data", (text: string) => {
      const pieces = `${rest}${text}`.split("\n");
      rest = pieces.pop() ?? "";
      lines.push(...pieces);
    });
  const answers = (): readonly Answer[] => lines.map((line) => JSON.parse(line) as Answer);
  const send = (...messages: readonly unknown[]): void => {
    for (const message of messages) input.write(`${JSON.stringify(message)}\n`);
  };
  const answer = async (id: unknown): Promise<Answer> => {
    for (;;) {
      const found = answers().find((one) => one.id === id && one.method === undefined);
      if (found !== undefined) return found;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  send({ jsonrpc: "2.0", id: "init", method: "initialize", params: { protocolVersion: 1 } });
  if (output instanceof PassThrough) await answer("init");
  return {
    input,
    lines,
    door,
    runtime,
    send,
    answer,
    answers,
    async begin() {
      send({ jsonrpc: "2.0", id: "new", method: "session/new", params: { cwd: tmpdir(), mcpServers: [] } });
      return (await answer("new")).result?.sessionId ?? "";
    },
    async [Symbol.asyncDispose]() {
      await door.close();
      await runtime.close({ graceMs: 0 });
    },
  };
}
const prompt = (sessionId: string, id: unknown = "p") => ({
  jsonrpc: "2.0",
  id,
  method: "session/prompt",
  params: { sessionId, prompt: [{ type: "text", text: "Hi" }] },
});
const list = (id: unknown) => ({ jsonrpc: "2.0", id, method: "session/list", params: {} });

describe("serveAcp with a hostile client", { timeout: 60_000 }, () => {
  it("ACP-06 reads lines that come in pieces, merged, with CRLF and without an end", async () => {
    await using it = await raw();
    const text = JSON.stringify(list(1));
    for (const byte of Buffer.from(`${text}\r\n`)) it.input.write(Buffer.from([byte]));
    expect((await it.answer(1)).result).toEqual({ sessions: [] });
    it.input.write(`\n\n${JSON.stringify(list(2))}\n${JSON.stringify(list(3))}\n`);
    await Promise.all([it.answer(2), it.answer(3)]);
    it.input.end(JSON.stringify(list(4)));
    await it.answer(4);
    await it.door.closed;
  });

  it.each([
    ["no JSON", Buffer.from("{ not json\n"), -32_700],
    ["no UTF-8", Buffer.from([0x7b, 0xff, 0xfe, 0x7d, 0x0a]), -32_700],
    ["a batch", Buffer.from("[]\n"), -32_600],
    ["a text", Buffer.from('"hello"\n'), -32_600],
    ["another version", Buffer.from('{"jsonrpc":"1.0","id":7,"method":"session/list"}\n'), -32_600],
    ["an id that is an object", Buffer.from('{"jsonrpc":"2.0","id":{},"method":"session/list"}\n'), -32_600],
    ["a method that is a number", Buffer.from('{"jsonrpc":"2.0","id":7,"method":7}\n'), -32_600],
    ["nothing", Buffer.from('{"jsonrpc":"2.0"}\n'), -32_600],
    [
      "too deep",
      Buffer.from(
        `{"jsonrpc":"2.0","id":7,"method":"session/list","params":${"[".repeat(50_000)}${"]".repeat(50_000)}}\n`,
      ),
      -32_600,
    ],
    ["too long", Buffer.concat([Buffer.alloc(ACP_LIMITS.messageBytes + 2, "x"), Buffer.from("\n")]), -32_600],
  ])("ACP-06 answers a line that is %s and goes on", async (_name, line, code) => {
    await using it = await raw();
    it.input.write(line);
    expect((await it.answer(null)).error?.code).toBe(code);
    it.send(list(8));
    expect((await it.answer(8)).result).toEqual({ sessions: [] });
  });

  it("ACP-06 answers unknown methods, wrong params and early requests, and ignores foreign answers", async () => {
    await using it = await raw();
    it.send(
      { jsonrpc: "2.0", id: 1, method: "session/dance", params: {} },
      { jsonrpc: "2.0", id: 2, method: "session/new", params: { cwd: 7 } },
      { jsonrpc: "2.0", id: 3, method: "session/prompt" },
      { jsonrpc: "2.0", id: 99, result: {} },
      { jsonrpc: "2.0", id: "init", error: { code: 1, message: "no" } },
      { jsonrpc: "2.0", method: "session/cancel", params: { sessionId: 5 } },
      { jsonrpc: "2.0", method: "session/cancel", params: { sessionId: "ses_none" } },
      { jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: "nothing" } },
      { jsonrpc: "2.0", id: 4, method: "toString", params: {} },
      { jsonrpc: "2.0", id: 5, method: "__proto__", params: { ["__proto__"]: { polluted: true } } },
      list(6),
    );
    expect((await it.answer(6)).result).toEqual({ sessions: [] });
    const codes = await Promise.all([1, 2, 3, 4, 5].map(async (id) => (await it.answer(id)).error?.code));
    expect(codes).toEqual([-32_601, -32_602, -32_602, -32_601, -32_601]);
    expect(({} as { readonly polluted?: boolean }).polluted).toBeUndefined();
  });

  it("ACP-06 refuses a request whose id is at work, and more requests than it takes at once", async () => {
    const { promise: held, resolve } = Promise.withResolvers<void>();
    await using it = await raw([{ text: "Slow.", hold: held }]);
    const sessionId = await it.begin();
    it.send(prompt(sessionId, "same"), prompt(sessionId, "same"));
    const first = await it.answer("same");
    expect(first.error?.code).toBe(-32_600);
    const many = Array.from({ length: ACP_LIMITS.openRequests + 10 }, (_item, index) => prompt(sessionId, index));
    it.send(...many);
    while (it.answers().filter(({ error }) => error?.code === -32_603).length < 11)
      await new Promise((done) => setImmediate(done));
    it.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    const ended = (): number => it.answers().filter(({ result }) => result?.stopReason === "cancelled").length;
    while (ended() < ACP_LIMITS.openRequests) await new Promise((done) => setImmediate(done));
    resolve();
  });

  it("ACP-06 writes nothing but protocol", async () => {
    await using it = await raw([{ text: "a\nb\u2028c\u0000" }]);
    const sessionId = await it.begin();
    it.send(prompt(sessionId));
    await it.answer("p");
    expect(it.answers().every((line) => (line as { jsonrpc?: string }).jsonrpc === "2.0")).toBe(true);
  });

  it("ACP-06 a client that goes away cancels nothing, and the next one finds the answer", async () => {
    const { promise: held, resolve } = Promise.withResolvers<void>();
    await using it = await raw([{ text: "All of it.", hold: held }]);
    const sessionId = await it.begin();
    it.send(prompt(sessionId));
    while (!it.lines.some((line) => line.includes("agent_message_chunk")))
      await new Promise((done) => setImmediate(done));
    it.input.end();
    await it.door.closed;
    resolve();
    const run = await (await it.runtime.session(sessionId)).run();
    expect(await run?.text()).toBe("All of it.");
  });

  it("ACP-06 a client that does not read holds up no run, and is left when it is gone", async () => {
    let reads = 0;
    const stalled = new Writable({
      highWaterMark: 64,
      write(_piece, _encoding, _done) {
        reads += 1; // and never done
      },
    });
    await using it = await raw([{ text: "Long. ".repeat(10_000), deltas: 500 }], stalled);
    const session = await it.runtime.session({ agent: "guide" });
    it.send({ jsonrpc: "2.0", id: 1, method: "session/resume", params: { sessionId: session.id, cwd: tmpdir() } });
    const run = await session.send("Go");
    expect((await run.result()).reason).toBe("end-turn");
    expect(reads).toBe(1);
    stalled.destroy(new Error("EPIPE"));
    await it.door.closed;
  });

  it("ACP-06 a pipe that breaks ends the door", async () => {
    const output = new PassThrough();
    await using it = await raw([], output);
    (output as Duplex).destroy(new Error("EPIPE"));
    it.send(list(1));
    await it.door.closed;
  });
});
