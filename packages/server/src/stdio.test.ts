import { agent, type Json, jsonSchema, tool } from "@capstan/core";
import { scriptedModel, type ScriptedReply, testRuntime, type TestRuntime } from "@capstan/core/testing";
import { WIRE_LIMITS } from "@capstan/wire";
import fc from "fast-check";
import { PassThrough, Readable, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { SERVER_LIMITS } from "./server-limits.ts";
import { serveStdio } from "./stdio.ts";

type Line = { readonly type: string; readonly id?: string | number; readonly [field: string]: any }; // oxlint-disable-line typescript/no-explicit-any -- looked into by the tests
const anything = jsonSchema<Json>({ type: "object" });
const pay = tool({ name: "pay", description: "Pays.", input: anything, permission: "ask", execute: () => "paid" });

type Shell = AsyncDisposable & {
  readonly runtime: TestRuntime;
  readonly input: PassThrough;
  readonly lines: readonly Line[];
  readonly logged: readonly string[];
  readonly ended: Promise<void>;
  send(request: object | string | Uint8Array): void;
  /** The first line for which this is true. */
  line(is: (line: Line) => boolean): Promise<Line>;
  /** Sends and waits for the last line about it. */
  ask(request: { readonly id: string | number; readonly [field: string]: unknown }): Promise<Line>;
};

/** The other side of the pipes. */
async function shell(replies: readonly ScriptedReply[]): Promise<Shell> {
  const guide = agent({ name: "guide", model: scriptedModel(replies), instructions: "Be brief.", tools: [pay] });
  const runtime = await testRuntime({ agents: [guide], permission: { mode: "ask" } });
  const input = new PassThrough();
  const lines: Line[] = [];
  const logged: string[] = [];
  const waiting = new Set<() => void>();
  let text = "";
  const output = new Writable({
    write(piece: Buffer, _encoding, done) {
      text += String(piece);
      const whole = text.split("\n");
      text = whole.pop() ?? "";
      for (const line of whole) lines.push(JSON.parse(line) as Line);
      for (const wake of waiting) wake();
      done();
    },
  });
  const ended = serveStdio({ runtime, agent: "guide", input, output, log: (line) => void logged.push(line) });
  const send = (request: object | string | Uint8Array): void =>
    void input.write(
      request instanceof Uint8Array || typeof request === "string" ? request : `${JSON.stringify(request)}\n`,
    );
  const line = async (is: (line: Line) => boolean): Promise<Line> => {
    for (;;) {
      const found = lines.find(is);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
      });
    }
  };
  await line(({ type }) => type === "ready");
  return {
    runtime,
    input,
    lines,
    logged,
    ended,
    send,
    line,
    ask(request) {
      send(request);
      return line(({ id, type }) => id === request.id && (type === "done" || type === "error"));
    },
    async [Symbol.asyncDispose]() {
      input.end();
      await ended;
      await runtime.close();
    },
  };
}

const said = (lines: readonly Line[], id: unknown): string =>
  lines
    .filter((line) => line.id === id && line.type === "token")
    .map(({ token }) => token)
    .join("");

describe("serveStdio", () => {
  it("STREAM-06 is ready first, speaks of each request by its id, and answers many at a time", async () => {
    const holds = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    let asked = 0;
    await using s = await shell([() => ({ text: `Answer ${++asked}.`, hold: (holds[asked - 1] ?? holds[1]).promise })]);
    expect(s.lines[0]).toMatchObject({ type: "ready", protocol: 2, capabilities: { protocols: [1, 2] } });
    const first = await s.ask({ id: "n1", kind: "new_conversation", title: "One" });
    const second = await s.ask({ id: 2, kind: "new_conversation", title: "Two" });
    s.send({
      id: "m1",
      kind: "user_message",
      message: "Hi",
      conversation_id: first["data"].conversation.conversation_id,
    });
    await s.line(({ id, type }) => id === "m1" && type === "token");
    s.send({
      id: "m2",
      kind: "user_message",
      message: "Hi",
      conversation_id: second["data"].conversation.conversation_id,
    });
    await s.line(({ id, type }) => id === "m2" && type === "token");
    holds[1].resolve();
    await s.line(({ id, type }) => id === "m2" && type === "done");
    expect(s.lines.some(({ id, type }) => id === "m1" && type === "done")).toBe(false);
    holds[0].resolve();
    await s.line(({ id, type }) => id === "m1" && type === "done");
    expect([said(s.lines, "m1"), said(s.lines, "m2")]).toEqual(["Answer 1.", "Answer 2."]);
    for (const line of s.lines) expect(line["timestamp"]).toEqual(expect.any(Number));
  });

  it("SESS-12 makes, lists, loads, renames, forks and deletes conversations", async () => {
    await using s = await shell([{ text: "Hello." }, { text: "Fine." }]);
    await s.ask({ id: 1, kind: "user_message", message: "Hi  there,\nyou" });
    const listed = await s.ask({ id: 2, kind: "list_conversations" });
    const [one] = listed["data"].conversations;
    expect(one).toMatchObject({ title: "Hi there, you", agent: "guide", status: "idle" });
    await s.ask({ id: 3, kind: "clear_history" });
    await s.ask({ id: 4, kind: "user_message", message: "Another" });
    expect((await s.ask({ id: 5, kind: "list_conversations" }))["data"].conversations).toHaveLength(2);
    const loaded = await s.ask({ id: 6, kind: "load_conversation", conversation_id: one.conversation_id });
    expect(loaded["data"].messages.map(({ parts }: Line) => parts[0].text)).toEqual(["Hi  there,\nyou", "Hello."]);
    const next = await s.ask({ id: 7, kind: "user_message", message: "How are you?" });
    expect(next["data"].conversation_id).toBe(one.conversation_id);
    expect(said(s.lines, 7)).toBe("Fine.");
    await s.ask({ id: 8, kind: "rename_conversation", conversation_id: one.conversation_id, title: "Greeting" });
    const fork = await s.ask({ id: 9, kind: "fork_conversation", conversation_id: one.conversation_id });
    expect(fork["data"].conversation.conversation_id).not.toBe(one.conversation_id);
    expect((await s.ask({ id: 10, kind: "delete_conversation", conversation_id: one.conversation_id })).type).toBe(
      "done",
    );
    const left = (await s.ask({ id: 11, kind: "list_conversations" }))["data"].conversations;
    expect(left.map(({ title }: Line) => title)).toEqual(["Greeting", "Another"]);
    expect(await s.ask({ id: 12, kind: "load_conversation", conversation_id: one.conversation_id })).toMatchObject({
      type: "error",
      code: "session-not-found",
    });
  });

  it("asks for permission, takes the answer, and interrupts", async () => {
    const hold = new Promise<never>(() => undefined);
    await using s = await shell([
      { calls: [{ name: "pay", input: { cents: 5 } }] },
      { text: "Paid." },
      { text: "Long story", hold },
    ]);
    s.send({ id: "m", kind: "user_message", message: "Pay" });
    const request = await s.line(({ type }) => type === "permission_request");
    expect(request).toMatchObject({ id: "m", tool: "pay", input: { cents: 5 } });
    expect((await s.ask({ id: "l", kind: "list_requests" }))["data"].requests).toHaveLength(1);
    expect(
      await s.ask({ id: "wrong", kind: "respond", request_id: "req_x", answer: { type: "permission", allow: true } }),
    ).toMatchObject({ type: "error", code: "request-closed" });
    expect(
      (
        await s.ask({
          id: "r",
          kind: "respond",
          request_id: request["request_id"],
          answer: { type: "permission", allow: true },
        })
      ).type,
    ).toBe("done");
    expect(await s.line(({ id, type }) => id === "m" && type === "done")).toMatchObject({ reason: "end-turn" });
    expect(s.lines.filter(({ id }) => id === "m").map(({ type }) => type)).toEqual(
      expect.arrayContaining(["tool_use", "permission_request", "tool_start", "tool_result", "token", "done"]),
    );
    s.send({ id: "m2", kind: "user_message", message: "Tell" });
    await s.line(({ id, type }) => id === "m2" && type === "token");
    expect((await s.ask({ id: "i", kind: "interrupt" })).type).toBe("done");
    expect(await s.line(({ id, type }) => id === "m2" && type === "done")).toMatchObject({ interrupted: true });
  });

  it("speaks whole events after hello, and goes on from a cursor", async () => {
    await using s = await shell([{ text: "Hello." }]);
    expect((await s.ask({ id: 1, kind: "hello", protocol: 7 }))["data"]).toEqual({ protocol: 2 });
    const done = await s.ask({ id: 2, kind: "user_message", message: "Hi" });
    const events = s.lines.filter(({ id, type }) => id === 2 && type === "event");
    expect(events.at(-1)?.["event"].event.type).toBe("run.finished");
    const cursor = events[3]?.["cursor"];
    s.send({ id: "sub", kind: "subscribe", conversation_id: done["data"].conversation_id, cursor });
    await s.line((line) => line.id === "sub" && line["event"]?.event.type === "run.finished");
    const first = s.lines.find(({ id, type }) => id === "sub" && type === "event");
    expect(first?.["event"].event.seq).toBe(Number(String(cursor).split(".")[0]) + 1);
    expect(
      await s.ask({ id: 3, kind: "subscribe", conversation_id: done["data"].conversation_id, cursor: "999" }),
    ).toMatchObject({ type: "error", code: "cursor-invalid" });
    expect((await s.ask({ id: 4, kind: "unsubscribe", subscription: "sub" }))["data"]).toEqual({ found: true });
    await s.line(({ id, type }) => id === "sub" && type === "done");
  });

  it("answers all that was asked when the input ends, also what waits for somebody who left", async () => {
    await using s = await shell([{ calls: [{ name: "pay", input: {} }] }]);
    s.send('{"id":1,"kind":"user_message","message":"Pay"}'); // without a line break
    s.input.end();
    await s.ended;
    expect(s.lines.at(-1)).toMatchObject({ type: "done", id: 1, waiting: true });
    expect(s.lines.at(-1)?.["requests"]).toHaveLength(1);
  });

  it("ends when nobody reads, and leaves the run to go on", async () => {
    const hold = Promise.withResolvers<void>();
    const guide = agent({
      name: "guide",
      model: scriptedModel([{ text: "Hello there.", hold: hold.promise }]),
      instructions: "x",
    });
    await using runtime = await testRuntime({ agents: [guide] });
    const output = new PassThrough();
    const input = new PassThrough();
    const ended = serveStdio({ runtime, agent: "guide", input, output, log: () => undefined });
    input.write('{"id":1,"kind":"user_message","message":"Hi"}\n');
    for await (const piece of output) if (String(piece).includes("token")) break; // and the pipe is closed
    await ended;
    hold.resolve();
    const [summary] = await runtime.sessions();
    expect(await (await (await runtime.session(summary?.sessionId ?? "")).run())?.text()).toBe("Hello there.");
  });

  it("G13 goes on answering beside more subscriptions than it takes, and gives an id once", async () => {
    await using s = await shell([]);
    const made = await s.ask({ id: "new", kind: "new_conversation" });
    const { conversation_id } = made["data"].conversation;
    const count = SERVER_LIMITS.stdioRequests * 4 + 1; // of so many at a time the door would read no further
    const subscribe = (id: unknown): string => `${JSON.stringify({ id, kind: "subscribe", conversation_id })}\n`;
    s.send(`${subscribe("twice")}${subscribe("twice")}`);
    expect(await s.line(({ id }) => id === "twice")).toMatchObject({ type: "error", code: "input-invalid" });
    s.send(Array.from({ length: count }, (_, id) => subscribe(id)).join(""));
    expect((await s.ask({ id: "list", kind: "list_requests" })).type).toBe("done");
    const refused = s.lines.filter(({ code }) => code === "limit-reached");
    expect(refused.length).toBe(count - SERVER_LIMITS.stdioRequests + 1); // one place is taken by "twice"
    s.send({ kind: "unsubscribe", subscription: 0 });
    await s.line(({ id, type }) => id === 0 && type === "done");
    expect((await s.ask({ id: "more", kind: "user_message", message: "Hi" })).type).toBe("done");
  });

  it("leaves at a signal although its reader stands still", async () => {
    const guide = agent({ name: "guide", model: scriptedModel([{ text: "Hello there." }]), instructions: "x" });
    await using runtime = await testRuntime({ agents: [guide] });
    const input = new PassThrough();
    const stop = new AbortController();
    const begun = Promise.withResolvers<void>();
    let pieces = 0;
    const output = new Writable({
      highWaterMark: 1,
      write(_piece, _encoding, done) {
        if (++pieces === 1) done(); // reads that the door is ready, and nothing else
        else begun.resolve();
      },
    });
    const ended = serveStdio({ runtime, agent: "guide", input, output, signal: stop.signal, log: () => undefined });
    input.end('{"id":1,"kind":"user_message","message":"Hi"}\n');
    await begun.promise;
    stop.abort();
    await ended;
    expect(input.destroyed).toBe(true);
  });

  it("waits for a reader that stands still, and loses nothing", async () => {
    const text = "word ".repeat(2_000);
    const guide = agent({ name: "guide", model: scriptedModel([{ text, deltas: 500 }]), instructions: "x" });
    await using runtime = await testRuntime({ agents: [guide] });
    const output = new PassThrough({ highWaterMark: 4_096 });
    const ended = serveStdio({
      runtime,
      agent: "guide",
      input: Readable.from(['{"id":1,"kind":"user_message","message":"Hi"}\n']),
      output,
      log: () => undefined,
    });
    const [summary] = await (async () => {
      for (;;) {
        const sessions = await runtime.sessions({ status: "idle" });
        if (sessions[0]?.usage.outputTokens) return sessions;
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    expect(summary?.status).toBe("idle"); // the run was not held up
    expect(output.readableLength).toBeLessThan(10_000);
    let all = "";
    output.setEncoding("utf8");
    output.on("data", (piece: string) => (all += piece));
    await ended;
    const lines = all
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
    expect(said(lines, 1)).toBe(text);
    expect(lines.at(-1)).toMatchObject({ type: "done", id: 1 });
  });

  it("stays in step whatever comes in: partial, merged, wrong, enormous lines and bytes that are no text", async () => {
    await using s = await shell([{ text: "Hello." }]);
    s.send('\n\r\n  \n{"id":1,"ki');
    s.send('nd":"list_requests"}\r\n{"id":2,"kind":"list_requests"}\n{"id":3,"kind":');
    s.send('"list_requests"}\n');
    await s.line(({ id }) => id === 3);
    const wrong: readonly (readonly [string, unknown])[] = [
      ["nonsense", undefined],
      ["[1]", undefined],
      ["null", undefined],
      ['{"id":{},"kind":"hello"}', undefined],
      ['{"id":"a"}', "a"],
      ['{"id":"b","kind":"nothing"}', "b"],
      ['{"id":"c","kind":"user_message","message":5}', "c"],
      ['{"id":"d","kind":"user_message","message":""}', "d"],
      ['{"id":"e","kind":"user_message","message":"x","images":"[{}]"}', "e"],
      ['{"id":"f","kind":"load_conversation"}', "f"],
      ['{"id":"g","kind":"respond","request_id":"x","answer":"yes"}', "g"],
      [`{"id":"h","kind":"hello","x":${"[".repeat(5_000)}${"]".repeat(5_000)}}`, undefined],
      ['{"id":"i","kind":"interrupt","conversation_id":"ses_nowhere"}', "i"],
      ['{"id":"j","kind":"__proto__"}', "j"],
    ];
    for (const [line] of wrong) s.send(`${line}\n`);
    for (const [, id] of wrong)
      if (id !== undefined) expect(await s.line((line) => line.id === id)).toMatchObject({ type: "error" });
    s.send(new Uint8Array([0x7b, 0xff, 0xfe, 0x7d, 0x0a]));
    const block = Buffer.alloc(1_048_576, 0x78);
    for (let sent = 0; sent <= WIRE_LIMITS.lineBytes; sent += block.length)
      if (!s.input.write(block)) await new Promise((resolve) => s.input.once("drain", resolve));
    s.send("\n");
    expect((await s.ask({ id: "z", kind: "user_message", message: "Hi" })).type).toBe("done");
    expect(s.lines.some(({ code }) => code === "input-too-large")).toBe(true);
    expect(s.lines.filter(({ type, id }) => type === "error" && id === undefined).length).toBe(7);
    expect(s.logged).toEqual([]);
  });

  it("answers every line of random bytes, and the request behind them", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.uint8Array({ maxLength: 60 }),
            fc.json().map((text) => Buffer.from(text)),
            fc.constant(Buffer.from("\n")),
          ),
          { maxLength: 20 },
        ),
        async (pieces) => {
          await using s = await shell([]);
          for (const piece of pieces) s.send(piece);
          s.send("\n");
          expect((await s.ask({ id: "last", kind: "list_requests" })).type).toBe("done");
        },
      ),
      { numRuns: 40 },
    );
  });
});
