import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, type AgentDefinition } from "../ports/agent.ts";
import { CapstanError } from "../words/errors.ts";
import { isLive, type LiveBody } from "../words/event.ts";
import { jsonSchema } from "../words/schema.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime, type TestRuntimeOptions } from "../testing/test-runtime.ts";
import { builtIn, tool, type Tool, type ToolContext } from "../ports/tool.ts";
import { logOf, ofType, soon, until } from "../testing/waiting.ts";

type Setup = {
  readonly tools: readonly Tool[];
  readonly turns: readonly ScriptedReply[];
  readonly definition?: Partial<AgentDefinition>;
  readonly options?: Partial<TestRuntimeOptions>;
};

async function open({ tools, turns, definition = {}, options = {} }: Setup) {
  const model = scriptedModel(turns);
  const guide = agent({ name: "guide", model, instructions: "x", tools, ...definition });
  const runtime = await testRuntime({ agents: [guide], ...options });
  return { guide, model, runtime };
}

/** Runs one turn of calls to its end and gives the results in the order in which they were written. */
async function play(setup: Setup) {
  const { guide, model, runtime } = await open(setup);
  const run = await runtime.send(guide, "Go");
  const result = await soon(run.result());
  const log = await logOf(runtime.store, run.session.id);
  const ends = ofType(log, "tool.finished").map(({ callId, status, output }) => [
    Number(callId.split("/").at(-1)),
    status,
    output.content.map((part) => (part.type === "text" ? part.text : part.type)).join(""),
  ]);
  await runtime.close();
  return { result, log, ends, model };
}

const nothing = z.object({});
const calls = (...names: string[]): ScriptedReply => ({ calls: names.map((name) => ({ name, input: {} })) });

/** Tools that say when they start and end when they are told to. */
function gated() {
  const gates = new Map<string, PromiseWithResolvers<string>>();
  const started: string[] = [];
  const made = (name: string, fields: Partial<Parameters<typeof tool>[0]> = {}): Tool =>
    tool({
      name,
      description: "Waits.",
      input: nothing,
      ...fields,
      execute: () => {
        started.push(name);
        const gate = Promise.withResolvers<string>();
        gates.set(name, gate);
        return gate.promise;
      },
    });
  const finish = (name: string): void => gates.get(name)?.resolve(`${name} done`);
  return { made, started, finish };
}

describe("what the model can put right", () => {
  const city = tool({ name: "city", description: "City.", input: z.object({ name: z.string() }), execute: () => "ok" });

  it("TOOL-14 names the tools there are when it calls another one", async () => {
    const { ends, result } = await play({ tools: [city], turns: [calls("village"), { text: "Sorry." }] });
    expect(ends).toEqual([[0, "error", 'There is no tool named "village". Available: city.']]);
    expect(result).toMatchObject({ reason: "end-turn", text: "Sorry." });
  });

  it("TOOL-14 names those of the runtime's plugins too", async () => {
    const options = { plugins: [{ name: "town", tools: [city] }] };
    const { ends } = await play({ tools: [], turns: [calls("village"), { text: "Sorry." }], options });
    expect(ends).toEqual([[0, "error", 'There is no tool named "village". Available: city.']]);
  });

  it("says so when there are no tools at all", async () => {
    const { ends } = await play({ tools: [], turns: [calls("village")] });
    expect(ends).toEqual([[0, "error", 'There is no tool named "village". Available: none.']]);
  });

  it("TOOL-02 says which argument is wrong", async () => {
    const { ends, log } = await play({ tools: [city], turns: [{ calls: [{ name: "city", input: { name: 5 } }] }] });
    expect(ends).toEqual([[0, "error", expect.stringMatching(/^Wrong arguments for city: name: .*expected string/)]]);
    expect(ofType(log, "tool.started")).toEqual([]);
  });

  it("TOOL-02 says that arguments are not JSON", async () => {
    const { ends } = await play({ tools: [city], turns: [{ calls: [{ name: "city", input: '{"name": "Os' }] }] });
    expect(ends).toEqual([[0, "error", "Wrong arguments for city: its arguments are not valid JSON"]]);
  });

  it("TOOL-02 gives the tool what its schema made of the input, and the log what the model said", async () => {
    let got: unknown;
    const count = tool({
      name: "count",
      description: "Counts.",
      input: z.object({ from: z.coerce.number().default(3), unit: z.string().default("m") }),
      execute: (input) => void (got = input),
    });
    const { ends, log } = await play({ tools: [count], turns: [{ calls: [{ name: "count", input: { from: "7" } }] }] });
    expect(got).toEqual({ from: 7, unit: "m" });
    expect(ends).toEqual([[0, "ok", "Done."]]);
    expect(ofType(log, "tool.started")[0]?.input).toEqual({ from: "7" });
  });

  it("TOOL-46 keeps the arguments in the log when the tool changes its own", async () => {
    const rude = tool({
      name: "rude",
      description: "Changes.",
      input: jsonSchema<{ list: number[] }>({ type: "object" }),
      execute: (input) => {
        input.list.push(4);
        return input.list.length;
      },
    });
    const { ends, log } = await play({ tools: [rude], turns: [{ calls: [{ name: "rude", input: { list: [1] } }] }] });
    expect(ends).toEqual([[0, "ok", "2"]]);
    expect(ofType(log, "tool.started")[0]?.input).toEqual({ list: [1] });
    expect(ofType(log, "message.added")[1]?.message.parts[0]).toMatchObject({ input: { list: [1] } });
  });

  it("gives what a tool threw as an error result", async () => {
    const bad = tool({
      name: "bad",
      description: "Fails.",
      input: nothing,
      execute: () => {
        throw new Error("no such street");
      },
    });
    const { ends, result } = await play({ tools: [bad], turns: [calls("bad"), { text: "Ok." }] });
    expect(ends).toEqual([[0, "error", "no such street"]]);
    expect(result.reason).toBe("end-turn");
  });

  it("LOOP-29 a CapstanError of a tool ends the run, with its result in the log and the other calls closed", async () => {
    const other = gated();
    const fatal = tool({
      name: "fatal",
      description: "Fails.",
      input: nothing,
      execute: () => {
        throw new CapstanError("model-key-missing", "Set a key");
      },
    });
    const { ends, result, log } = await play({
      tools: [fatal, other.made("later")],
      turns: [calls("fatal", "later"), { text: "never" }],
    });
    expect(ends).toEqual([
      [0, "error", "Set a key"],
      [1, "cancelled", "Interrupted"],
    ]);
    expect(other.started).toEqual([]);
    expect(result).toMatchObject({ reason: "error", turns: 1, error: { code: "model-key-missing" } });
    expect(ofType(log, "run.finished")).toHaveLength(1);
    expect(JSON.stringify(log)).not.toContain("User interrupted");
  });

  it("PERM-05 a permission function or needs that throws refuses the call and does not hurt the session", async () => {
    const throwing = (): never => {
      throw new Error("a bug in the policy");
    };
    const ran: string[] = [];
    for (const field of ["permission", "needs"] as const) {
      const odd = tool({
        name: "odd",
        description: "Odd.",
        input: nothing,
        [field]: throwing,
        execute: () => void ran.push(field),
      });
      const { guide, runtime } = await open({ tools: [odd], turns: [calls("odd"), { text: "Ok." }] });
      const run = await runtime.send(guide, "Go");
      const result = await soon(run.result());
      expect(result.status).toBe("finished");
      expect(ofType(await logOf(runtime.store, run.session.id), "tool.finished")[0]?.status).not.toBe("ok");
      expect(await soon((await run.session.send("Still there?")).result())).toMatchObject({ reason: "end-turn" });
      await runtime.close();
    }
    expect(ran).toEqual([]);
  });

  it("TOOL-02 a schema whose check throws counts as wrong arguments", async () => {
    const odd = tool({
      name: "odd",
      description: "Odd.",
      input: jsonSchema({ type: "object" }, () => {
        throw new Error("a bug in the check");
      }),
      execute: () => "ran",
    });
    const { ends, result } = await play({ tools: [odd], turns: [calls("odd"), { text: "Ok." }] });
    expect(ends).toEqual([[0, "error", expect.stringContaining("a bug in the check")]]);
    expect(result.reason).toBe("end-turn");
  });
});

describe("results", () => {
  const returning = (value: unknown, output?: z.ZodType): Tool =>
    tool({
      name: "give",
      description: "Gives.",
      input: nothing,
      ...(output !== undefined && { output }),
      execute: () => value as string,
    });
  const outputOf = async (made: Tool) =>
    ofType((await play({ tools: [made], turns: [calls("give")] })).log, "tool.finished")[0];

  it("TOOL-04 are text, JSON, nothing, or ready outputs", async () => {
    const table: readonly [unknown, unknown][] = [
      ["text", { content: [{ type: "text", text: "text" }] }],
      [{ a: [1] }, { content: [{ type: "text", text: '{"a":[1]}' }] }],
      [7, { content: [{ type: "text", text: "7" }] }],
      [undefined, { content: [{ type: "text", text: "Done." }] }],
      [null, { content: [{ type: "text", text: "Done." }] }],
      [false, { content: [{ type: "text", text: "false" }] }],
      [
        { content: [{ type: "diff", path: "a", after: "b" }], labels: ["web"] },
        { content: [{ type: "diff", path: "a", after: "b" }], labels: ["web"] },
      ],
    ];
    for (const [value, output] of table) {
      expect(await outputOf(returning(value))).toMatchObject({ status: "ok", output });
    }
  });

  it("TOOL-04 an output that says it is an error has the status error", async () => {
    const fact = await outputOf(returning({ content: [{ type: "text", text: "no" }], isError: true }));
    expect(fact).toMatchObject({ status: "error", output: { isError: true } });
  });

  it("keep a structured value that fits the output schema, and refuse one that does not", async () => {
    const schema = z.object({ n: z.number() });
    expect((await outputOf(returning({ n: 1 }, schema)))?.output).toEqual({
      content: [{ type: "text", text: '{"n":1}' }],
      output: { n: 1 },
    });
    expect(await outputOf(returning({ n: "1" }, schema))).toMatchObject({
      status: "error",
      output: { isError: true, content: [{ text: expect.stringContaining("does not fit its own output schema: n:") }] },
    });
  });

  it("that cannot be written as JSON are an error of the tool", async () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    for (const value of [circle, 10n, () => 1]) {
      expect(await outputOf(returning(value))).toMatchObject({ status: "error", output: { isError: true } });
    }
  });

  it("TOOL-16 carry the time they took on the clock", async () => {
    const gate = gated();
    const { guide, runtime } = await open({ tools: [gate.made("wait")], turns: [calls("wait")] });
    const run = await runtime.send(guide, "Go");
    await until(() => gate.started.length === 1);
    await runtime.clock.advance(1_234);
    gate.finish("wait");
    await soon(run.result());
    expect(ofType(await logOf(runtime.store, run.session.id), "tool.finished")[0]?.durationMs).toBe(1_234);
    await runtime.close();
  });

  it("EDGE-10 hand their labels on to the result message and to what the model says then", async () => {
    const web = returning({ content: [{ type: "text", text: "page" }], labels: ["untrusted"] });
    const { log, model } = await play({ tools: [web], turns: [calls("give"), { text: "Read." }] });
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: "user", labels: ["untrusted"] });
    expect(ofType(log, "message.added").map(({ message }) => message.labels)).toEqual([
      undefined,
      undefined,
      ["untrusted"],
    ]);
  });

  it("TOOL-20 over 32 KB of bytes become blobs before the fact that names them", async () => {
    const bytes = Buffer.alloc(40_000, 7);
    const file = {
      content: [{ type: "file", mediaType: "image/png", data: { type: "base64", base64: bytes.toString("base64") } }],
    };
    const { guide, runtime } = await open({ tools: [returning(file)], turns: [calls("give")] });
    const run = await runtime.send(guide, "Go");
    await soon(run.result());
    const [end] = ofType(await logOf(runtime.store, run.session.id), "tool.finished");
    const part = end?.output.content[0];
    if (part?.type !== "file" || part.data.type !== "blob") throw new Error("no blob");
    expect(part.data.size).toBe(40_000);
    expect(bytes.equals((await runtime.store.blob(part.data.hash)) ?? Buffer.alloc(0))).toBe(true);
    await runtime.close();
  });
});

describe("the context of a tool", () => {
  it("TOOL-08 names call, run, session, actor and attempt", async () => {
    let seen: ToolContext | undefined;
    const look = tool({
      name: "look",
      description: "Looks.",
      input: nothing,
      execute: (_input, context) => void (seen = context),
    });
    const { guide, runtime } = await open({ tools: [look], turns: [calls("look")] });
    const ada = runtime.as({ id: "ada", door: "test", tenant: "acme" });
    const session = await ada.session({ agent: guide, key: "chat", metadata: { plan: "pro" } });
    const run = await session.send("Go");
    await soon(run.result());
    expect(seen).toMatchObject({
      callId: `${run.id}/1/0`,
      runId: run.id,
      depth: 0,
      attempt: 1,
      idempotencyKey: `${run.id}-1-0`,
      session: { id: session.id, key: "chat", metadata: { plan: "pro" } },
      actor: { id: "ada", door: "test", tenant: "acme" },
    });
    expect(() => seen?.workspace).toThrow(/has no workspace/);
    await runtime.close();
  });

  it("a session without a key shows none", async () => {
    let seen: ToolContext | undefined;
    const look = tool({
      name: "look",
      description: "Looks.",
      input: nothing,
      execute: (_input, context) => void (seen = context),
    });
    const { guide, runtime } = await open({ tools: [look], turns: [calls("look")] });
    const run = await runtime.send(guide, "Go");
    await soon(run.result());
    expect(seen?.session).toEqual({ id: run.session.id, metadata: {} });
    expect((await runtime.sessions())[0]).not.toHaveProperty("key");
    await runtime.close();
  });

  it("SESS-07 sees metadata that changed while the run went on", async () => {
    const gate = gated();
    let seen: unknown;
    const look = tool({
      name: "look",
      description: "Looks.",
      input: nothing,
      execute: (_input, context) => void (seen = context.session.metadata),
    });
    const { guide, runtime } = await open({ tools: [gate.made("wait"), look], turns: [calls("wait", "look")] });
    const run = await runtime.send(guide, "Go", { metadata: { a: 1 } });
    await until(() => gate.started.length === 1);
    await soon(run.session.update({ metadata: { b: 2 } }));
    gate.finish("wait");
    await soon(run.result());
    expect(seen).toEqual({ a: 1, b: 2 });
    await runtime.close();
  });

  it("TOOL-09 shows progress live, with the offset of each stream, and stores none of it", async () => {
    const noisy = tool({
      name: "noisy",
      description: "Talks.",
      input: nothing,
      execute: (_input, context) => {
        context.progress({ chunk: "one" });
        context.progress({ chunk: "err", stream: "stderr" });
        context.progress({ chunk: "two" });
        context.progress({ progress: 1, total: 2, message: "half" });
      },
    });
    const { guide, runtime } = await open({ tools: [noisy], turns: [calls("noisy")] });
    const run = await runtime.send(guide, "Go");
    const live: LiveBody[] = [];
    for await (const { event } of run.events()) if (isLive(event) && event.type === "tool.progress") live.push(event);
    const callId = `${run.id}/1/0`;
    expect(live).toEqual([
      expect.objectContaining({ callId, stream: "stdout", chunk: "one", offset: 0 }),
      expect.objectContaining({ callId, stream: "stderr", chunk: "err", offset: 0 }),
      expect.objectContaining({ callId, stream: "stdout", chunk: "two", offset: 3 }),
      expect.objectContaining({ callId, progress: 1, total: 2, message: "half" }),
    ]);
    expect(JSON.stringify(await logOf(runtime.store, run.session.id))).not.toContain("tool.progress");
    await runtime.close();
  });
});

describe("time limits of a tool", () => {
  const obedient = (fields: Partial<Parameters<typeof tool>[0]> = {}): Tool =>
    tool({
      name: "slow",
      description: "Waits for its signal.",
      input: nothing,
      ...fields,
      execute: (_input, { signal }) =>
        new Promise<string>((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
        ),
    });
  const deaf = (fields: Partial<Parameters<typeof tool>[0]> = {}): Tool =>
    tool({
      name: "slow",
      description: "Hears nothing.",
      input: nothing,
      ...fields,
      execute: () => new Promise<string>(() => undefined),
    });
  async function timed(slow: Tool, ms: number, definition: Partial<AgentDefinition> = {}) {
    const { guide, runtime } = await open({ tools: [slow], turns: [calls("slow"), { text: "Ok." }], definition });
    const run = await runtime.send(guide, "Go");
    await until(async () => ofType(await logOf(runtime.store, run.session.id), "tool.started").length === 1);
    await runtime.clock.advance(ms - 1);
    expect(ofType(await logOf(runtime.store, run.session.id), "tool.finished")).toEqual([]);
    await runtime.clock.advance(1);
    expect(await soon(run.result())).toMatchObject({ reason: "end-turn", text: "Ok." });
    const [end] = ofType(await logOf(runtime.store, run.session.id), "tool.finished");
    await runtime.close();
    return end;
  }

  it("LOOP-11 the tool's own comes first", async () => {
    expect(await timed(obedient({ timeoutMs: 2_000 }), 2_000, { limits: { toolMs: 9_000 } })).toMatchObject({
      status: "timeout",
      output: { isError: true, content: [{ text: "slow took too long and was stopped." }] },
    });
  });

  it("then the one of the run", async () => {
    expect(await timed(obedient(), 9_000, { limits: { toolMs: 9_000 } })).toMatchObject({ status: "timeout" });
  });

  it("EDGE-01 a tool that does not stop is left after 500 ms, and its outcome is said to be unknown", async () => {
    const end = await timed(deaf({ timeoutMs: 2_000 }), 2_500);
    expect(end).toMatchObject({
      status: "timeout",
      output: { content: [{ text: expect.stringContaining("its outcome is unknown and it may yet happen") }] },
    });
  });

  it("EDGE-01 what is safe leaves no doubt behind", async () => {
    const end = await timed(deaf({ timeoutMs: 2_000, rerun: "safe" }), 2_500);
    expect(end).toMatchObject({ output: { content: [{ text: "slow took too long and was stopped." }] } });
  });
});

describe("the order of calls", () => {
  it("LOOP-18 runs effects one after the other in the model's order", async () => {
    const gate = gated();
    const { guide, runtime } = await open({
      tools: [gate.made("a"), gate.made("b"), gate.made("c", { rerun: "keyed" })],
      turns: [calls("a", "b", "c"), { text: "Ok." }],
    });
    const run = await runtime.send(guide, "Go");
    for (const [index, name] of ["a", "b", "c"].entries()) {
      await until(() => gate.started.length > index);
      await runtime.clock.advance(0);
      expect(gate.started).toEqual(["a", "b", "c"].slice(0, index + 1));
      gate.finish(name);
    }
    expect(await soon(run.text())).toBe("Ok.");
    await runtime.close();
  });

  it("LOOP-18 starts safe and parallel calls at once, beside the first effect", async () => {
    const gate = gated();
    const { guide, model, runtime } = await open({
      tools: [
        gate.made("effect1"),
        gate.made("read", { rerun: "safe" }),
        gate.made("effect2"),
        gate.made("spawn", { parallel: true }),
      ],
      turns: [calls("effect1", "read", "effect2", "spawn"), { text: "Ok." }],
    });
    const run = await runtime.send(guide, "Go");
    await until(() => gate.started.length === 3);
    expect(gate.started.toSorted()).toEqual(["effect1", "read", "spawn"]);
    const intents = ofType(await logOf(runtime.store, run.session.id), "tool.started");
    expect(intents.map(({ name }) => name)).toEqual(["effect1", "read", "spawn"]);
    gate.finish("spawn");
    gate.finish("read");
    await runtime.clock.advance(0);
    expect(gate.started).toHaveLength(3);
    gate.finish("effect1");
    await until(() => gate.started.length === 4);
    gate.finish("effect2");
    expect(await soon(run.text())).toBe("Ok.");
    const log = await logOf(runtime.store, run.session.id);
    expect(ofType(log, "tool.finished").map(({ name }) => name)).toEqual(["spawn", "read", "effect1", "effect2"]);
    expect(model.requests[1]?.messages.at(-1)?.parts.map((part) => part.type === "tool-result" && part.name)).toEqual([
      "effect1",
      "read",
      "effect2",
      "spawn",
    ]);
    await runtime.close();
  });

  it("LOOP-18 a denied call ends at once and blocks nobody", async () => {
    const gate = gated();
    const { guide, runtime } = await open({
      tools: [gate.made("first"), gate.made("secret", { permission: "deny" }), gate.made("last")],
      turns: [calls("first", "secret", "last"), { text: "Ok." }],
    });
    const run = await runtime.send(guide, "Go");
    await until(() => gate.started.length === 1);
    expect(ofType(await logOf(runtime.store, run.session.id), "tool.finished")).toEqual([
      expect.objectContaining({ name: "secret", status: "denied" }),
    ]);
    gate.finish("first");
    await until(() => gate.started.length === 2);
    gate.finish("last");
    await soon(run.text());
    expect(gate.started).toEqual(["first", "last"]);
    await runtime.close();
  });

  it("PERM-07 all asks of a turn open in one append, before anything runs", async () => {
    const gate = gated();
    const { guide, runtime } = await open({
      tools: [gate.made("a", { permission: () => "ask" }), gate.made("b", { permission: () => "ask" })],
      turns: [calls("a", "b"), { text: "Ok." }],
      options: { permission: { mode: "ask" } },
    });
    const run = await runtime.send(guide, "Go");
    const { requests } = await soon(run.result());
    expect(requests.map(({ body }) => body.type === "permission" && body.tool)).toEqual(["a", "b"]);
    expect(gate.started).toEqual([]);
    await runtime.close();
  });

  it("a call that waits for a person lets safe ones pass, and holds up the effects behind it", async () => {
    const gate = gated();
    const { guide, runtime } = await open({
      tools: [gate.made("ask", { permission: () => "ask" }), gate.made("effect"), gate.made("read", { rerun: "safe" })],
      turns: [calls("ask", "effect", "read"), { text: "Ok." }],
      options: { permission: { mode: "ask" } },
    });
    const run = await runtime.send(guide, "Go");
    await until(() => gate.started.length === 1);
    gate.finish("read");
    const { requests } = await soon(run.result());
    expect(gate.started).toEqual(["read"]);
    await soon(run.session.respond(requests[0]?.requestId ?? "", { type: "permission", allow: true }));
    await until(() => gate.started.length === 2);
    gate.finish("ask");
    await until(() => gate.started.length === 3);
    gate.finish("effect");
    expect(gate.started).toEqual(["read", "ask", "effect"]);
    expect(await soon(run.text())).toBe("Ok.");
    await runtime.close();
  });
});

describe("permission in the loop", () => {
  const remove = builtIn(
    tool({
      name: "remove",
      description: "Removes.",
      input: z.object({ path: z.string() }),
      kind: "delete",
      needs: ({ path }) => [{ type: "write", path }],
      execute: ({ path }) => `removed ${path}`,
    }),
  );
  const call: ScriptedReply = { calls: [{ name: "remove", input: { path: "/a" } }] };

  it("PERM-05 refuses what would be asked when nobody can be asked, and the model reads why", async () => {
    const { ends, result } = await play({ tools: [remove], turns: [call, { text: "I may not." }] });
    expect(ends).toEqual([[0, "denied", "Refused: No rule allows to write /a; nobody can be asked"]]);
    expect(result).toMatchObject({ reason: "end-turn", text: "I may not." });
  });

  it("PERM-02 a rule of the agent allows, a rule of the runtime denies, and deny wins", async () => {
    const definition = { permission: { allow: ["remove"] } };
    const allowed = await play({ tools: [remove], turns: [call], definition });
    expect(allowed.ends).toEqual([[0, "ok", "removed /a"]]);
    const denied = await play({
      tools: [remove],
      turns: [call],
      definition,
      options: { permission: { deny: ["remove"] } },
    });
    expect(denied.ends).toEqual([[0, "denied", "Refused: Denied by the global rule remove"]]);
  });

  it("PERM-12 plan mode for one send", async () => {
    const { guide, runtime } = await open({
      tools: [remove],
      turns: [call, { text: "A plan." }, call, { text: "Done." }],
      definition: { permission: { allow: ["remove"] } },
    });
    const session = await runtime.session({ agent: guide });
    await soon((await session.send("Plan", { mode: "plan" })).result());
    await soon((await session.send("Do")).result());
    const ends = ofType(await logOf(runtime.store, session.id), "tool.finished");
    expect(ends.map(({ status }) => status)).toEqual(["denied", "ok"]);
    await runtime.close();
  });

  it("LOOP-22 a send may narrow the tools, and what is left out is unknown to the model", async () => {
    const gate = gated();
    const { guide, runtime, model } = await open({
      tools: [remove, gate.made("other")],
      turns: [call, { text: "Ok." }],
      definition: { permission: { allow: ["remove"] } },
    });
    const run = await runtime.send(guide, "Go", { tools: ["other"] });
    await soon(run.result());
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["other"]);
    expect(ofType(await logOf(runtime.store, run.session.id), "tool.finished")[0]).toMatchObject({
      status: "error",
      output: { content: [{ text: 'There is no tool named "remove". Available: other.' }] },
    });
    await runtime.close();
  });

  it("TOOL-05 EDGE-06 the intent names what was approved", async () => {
    const titled = tool({
      name: "pay",
      description: "Pays.",
      input: z.object({ cents: z.int() }),
      title: ({ cents }) => `Pay ${cents} cents`,
      permission: () => "ask",
      execute: () => "paid",
    });
    const { guide, runtime } = await open({
      tools: [titled],
      turns: [{ calls: [{ name: "pay", input: { cents: 5 } }] }, { text: "Ok." }],
      options: { permission: { mode: "ask" } },
    });
    const run = await runtime.send(guide, "Go");
    const { requests } = await soon(run.result());
    expect(requests[0]?.body).toMatchObject({
      type: "permission",
      tool: "pay",
      input: { cents: 5 },
      title: "Pay 5 cents",
      binding: { inputHash: expect.any(String), toolHash: titled.hash },
    });
    const requestId = requests[0]?.requestId ?? "";
    await soon(run.session.respond(requestId, { type: "permission", allow: true }));
    await soon(run.result());
    expect(ofType(await logOf(runtime.store, run.session.id), "tool.started")).toEqual([
      expect.objectContaining({
        callId: `${run.id}/1/0`,
        name: "pay",
        title: "Pay 5 cents",
        kind: "other",
        input: { cents: 5 },
        rerun: "never",
        flow: false,
        toolHash: titled.hash,
        confinement: "none",
        requestId,
      }),
    ]);
    await runtime.close();
  });

  it("a title that throws does not stop the call", async () => {
    const odd = tool({
      name: "odd",
      description: "Odd.",
      input: nothing,
      title: () => {
        throw new Error("no title");
      },
      execute: () => "ran",
    });
    const { ends, log } = await play({ tools: [odd], turns: [calls("odd")] });
    expect(ends).toEqual([[0, "ok", "ran"]]);
    expect(ofType(log, "tool.started")[0]?.title).toBe("odd");
  });
});
