import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, type AgentDefinition } from "../ports/agent.ts";
import { CapstanError } from "../words/errors.ts";
import { type Fact, isLive, type LiveBody } from "../words/event.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { fixedIds } from "../testing/fixed-ids.ts";
import { memoryStore } from "../store-engine/memory-store.ts";
import { textOf } from "../words/message.ts";
import { type Plugin, plugin, type PluginDefinition } from "../ports/plugin.ts";
import { openRuntime } from "../session/runtime.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime, type TestRuntimeOptions } from "../testing/test-runtime.ts";
import { tool, type Tool } from "../ports/tool.ts";
import { logOf, ofType, soon, until } from "../testing/waiting.ts";

type Setup = {
  readonly plugins: readonly Plugin[];
  readonly turns?: readonly ScriptedReply[];
  readonly tools?: readonly Tool[];
  readonly definition?: Partial<AgentDefinition>;
  readonly options?: Partial<TestRuntimeOptions>;
};
async function open({ plugins, turns = [{ text: "Ok." }], tools = [], definition = {}, options = {} }: Setup) {
  const model = scriptedModel(turns);
  const guide = agent({ name: "guide", model, instructions: "x", tools, plugins, ...definition });
  const runtime = await testRuntime({ agents: [guide], ...options });
  return { guide, model, runtime };
}

/** One run to its end, with all that was shown live. */
async function play(setup: Setup, text = "Go") {
  const { guide, model, runtime } = await open(setup);
  const run = await runtime.send(guide, text);
  const live: LiveBody[] = [];
  const watching = (async () => {
    for await (const { event } of run.events()) if (isLive(event)) live.push(event);
  })();
  const result = await soon(run.result());
  await soon(watching);
  const log = await logOf(runtime.store, run.session.id);
  const notices = live.flatMap((event) => (event.type === "notice" ? [event.code, event.title] : []));
  const after = await soon((await run.session.send("Still there?")).result());
  await runtime.close();
  return { result, log, live, notices, model, after };
}

const nothing = z.object({});
const look = (ran: string[] = []): Tool =>
  tool({
    name: "look",
    description: "Looks.",
    input: z.object({ at: z.string().default("here") }),
    execute: ({ at }) => {
      ran.push(at);
      return `saw ${at}`;
    },
  });
const calls: ScriptedReply = { calls: [{ name: "look", input: { at: "door" } }] };
const boom = (): never => {
  throw new Error("boom");
};
const never = new Promise<never>(() => undefined);

describe("the input hook", () => {
  it("HOOK-04 LOOP-23 rewrites what the model reads, in list order, runtime plugins first", async () => {
    const add = (name: string): Plugin =>
      plugin({
        name,
        input: (message, _context, next) =>
          next({ ...message, parts: [...message.parts, { type: "text", text: ` ${name}` }] }),
      });
    const { model, log } = await play({ plugins: [add("a"), add("b")], options: { plugins: [add("global")] } });
    expect(textOf(model.requests[0]?.messages[0]?.parts ?? [])).toBe("Go global a b");
    expect(ofType(log, "input.accepted")[0]?.parts).toEqual([{ type: "text", text: "Go" }]);
  });

  it("answers without asking the model", async () => {
    const help = plugin({
      name: "help",
      input: (message, context, next) =>
        textOf(message.parts) === "/help" ? context.answer("Ask away.") : next(message),
    });
    const { model, result } = await play({ plugins: [help] }, "/help");
    expect(result).toMatchObject({ reason: "end-turn", text: "Ask away.", turns: 0 });
    expect(model.requests).toHaveLength(1); // the second input only
  });

  it("refuses an input: the run ends with refused-input and says why", async () => {
    const strict = plugin({
      name: "strict",
      input: (message, context, next) =>
        textOf(message.parts) === "bad" ? context.refuse("Mind your words") : next(message),
    });
    const { result, log, notices, after } = await play({ plugins: [strict] }, "bad");
    expect(result).toMatchObject({
      reason: "refused-input",
      turns: 0,
      error: { code: "input-invalid", message: "Mind your words" },
    });
    expect(ofType(log, "message.added")).toEqual([]);
    expect(notices).toEqual(["refused-input", "Mind your words"]);
    expect(after).toMatchObject({ reason: "end-turn" });
  });

  it("HOOK-14 fails closed: what throws refuses the input", async () => {
    const { result, after, model } = await play({
      plugins: [
        plugin({
          name: "broken",
          input: (message, _c, next) => (textOf(message.parts) === "Go" ? boom() : next(message)),
        }),
      ],
    });
    expect(result).toMatchObject({
      status: "finished",
      reason: "refused-input",
      error: { message: expect.stringContaining("Hook input of plugin broken failed: boom") },
    });
    expect(after.reason).toBe("end-turn");
    expect(model.requests).toHaveLength(1);
  });

  it("HOOK-02 is timed out after 10 s", async () => {
    const { guide, runtime } = await open({ plugins: [plugin({ name: "slow", input: () => never })] });
    const run = await runtime.send(guide, "Go");
    const result = run.result();
    await runtime.clock.advance(9_999);
    expect(ofType(await logOf(runtime.store, run.session.id), "run.finished")).toEqual([]);
    await runtime.clock.advance(1);
    expect(await soon(result)).toMatchObject({
      reason: "refused-input",
      error: { message: expect.stringContaining("took longer than 10000 ms") },
    });
    await runtime.close();
  });

  it("LOOP-14 a refused steer leaves the run alone", async () => {
    const gate = Promise.withResolvers<void>();
    const strict = plugin({
      name: "strict",
      input: (message, context, next) => (textOf(message.parts) === "bad" ? context.refuse("No") : next(message)),
    });
    const { guide, runtime, model } = await open({ plugins: [strict], turns: [{ text: "Fine.", hold: gate.promise }] });
    const session = await runtime.session({ agent: guide });
    const run = await session.send("good");
    await until(() => model.requests.length === 1);
    const steer = await session.send("bad", { ifBusy: "steer" });
    gate.resolve();
    expect(await soon(run.result())).toMatchObject({ reason: "end-turn", text: "Fine." });
    expect(await soon(steer.result())).toMatchObject({ status: "finished", turns: 0 });
    expect((await runtime.sessions())[0]).toMatchObject({ status: "idle", queued: 0 });
    await runtime.close();
  });

  it("LOOP-14 a steer that a hook answers does not end the run that works", async () => {
    const gate = Promise.withResolvers<void>();
    const help = plugin({
      name: "help",
      input: (message, context, next) => (textOf(message.parts) === "/help" ? context.answer("Help.") : next(message)),
    });
    const { guide, runtime, model } = await open({
      plugins: [help],
      tools: [look()],
      turns: [{ ...(calls as object), hold: gate.promise }, { text: "Saw the door." }, { text: "Saw the door." }],
    });
    const session = await runtime.session({ agent: guide });
    const run = await session.send("look");
    await until(() => model.requests.length === 1);
    await session.send("/help", { ifBusy: "steer" });
    gate.resolve();
    expect(await soon(run.result())).toMatchObject({ reason: "end-turn", text: "Saw the door.", turns: 2 });
    await runtime.close();
  });
});

describe("the prepare hook", () => {
  it("HOOK-08 adds a tail that only this call sees, and settings; later plugins win", async () => {
    const one = plugin({
      name: "one",
      prepare: () => ({ tail: [{ type: "text", text: "one" }], settings: { temperature: 0.1, maxOutputTokens: 5 } }),
    });
    const two = plugin({
      name: "two",
      prepare: () => ({ tail: [{ type: "text", text: "two" }], settings: { temperature: 0.2 } }),
    });
    const { model, log } = await play({ plugins: [one, two], definition: { settings: { reasoning: "low" } } });
    expect(model.requests[0]).toMatchObject({
      settings: { reasoning: "low", temperature: 0.2, maxOutputTokens: 5 },
      messages: [
        { role: "user", parts: [{ text: "Go" }] },
        { role: "user", parts: [{ text: "one" }, { text: "two" }] },
      ],
    });
    expect(JSON.stringify(log)).not.toContain('"two"');
    expect(model.requests[1]?.messages).toHaveLength(4); // go, ok, still there, and this call's own tail
  });

  it("EDGE-07 a change of the system text without a stated cause is refused", async () => {
    const { result, after } = await play({ plugins: [plugin({ name: "p", prepare: () => ({ system: "more" }) })] });
    expect(result).toMatchObject({ reason: "error", error: { code: "plugin-invalid" } });
    expect(after.reason).toBe("error");
  });

  it("EDGE-07 a stated break of the prefix is a fact with its cause, once", async () => {
    const p = plugin({ name: "p", prepare: () => ({ system: "More.", breaksPrefix: "a skill was loaded" }) });
    const { guide, model, runtime } = await open({ plugins: [p], tools: [look()], turns: [calls, { text: "Ok" }] });
    const run = await runtime.send(guide, "Go");
    await soon(run.result());
    const log = await logOf(runtime.store, run.session.id);
    const sets = ofType(log, "prefix.set");
    expect(sets.map(({ cause }) => cause)).toEqual(["session started", "a skill was loaded"]);
    expect(model.requests.map(({ system }) => system)).toEqual(["x\n\nMore.", "x\n\nMore."]);
    expect(model.requests[1]?.system).toBe(model.requests[0]?.system);
    expect(model.requests[1]?.tools).toBe(model.requests[0]?.tools);
    expect(ofType(log, "turn.started").map(({ prefixHash }) => prefixHash)).toEqual([sets[1]?.hash, sets[1]?.hash]);
    await runtime.close();
  });

  it("HOOK-14 ends the run with an error when it throws, and the session goes on", async () => {
    let broken = true;
    const odd = plugin({
      name: "odd",
      prepare: () => {
        if (broken) {
          broken = false;
          boom();
        }
      },
    });
    const { result, after } = await play({ plugins: [odd] });
    expect(result).toMatchObject({
      reason: "error",
      error: { code: "hook-failed", message: "Hook prepare of plugin odd failed: boom" },
    });
    expect(after.reason).toBe("end-turn");
  });
});

describe("the model hook", () => {
  it("HOOK-09 wraps the call, the first outermost, and may change request and events", async () => {
    const order: string[] = [];
    const wrap = (name: string): Plugin =>
      plugin({
        name,
        async *model(request, _context, next) {
          order.push(`${name} in`);
          yield* next({ ...request, system: `${request.system} ${name}` });
          order.push(`${name} out`);
        },
      });
    const { model } = await play({ plugins: [wrap("a"), plugin({ name: "none" }), wrap("b")] });
    expect(order.slice(0, 4)).toEqual(["a in", "b in", "b out", "a out"]);
    expect(model.requests[0]?.system).toBe("x a b");
  });

  it("HOOK-14 its failure is a model error", async () => {
    const { result, after } = await play({ plugins: [plugin({ name: "bad", model: () => boom() })] });
    expect(result).toMatchObject({ reason: "error", error: { code: "model-failed", message: "boom" } });
    expect(after.status).toBe("finished");
  });

  it("sees its own fold", async () => {
    let seen: unknown;
    const counting = plugin<number>({
      name: "counting",
      fold: { start: 0, next: (count) => count + 1 },
      model(request, { own }, next) {
        seen ??= own;
        return next(request);
      },
    });
    await play({ plugins: [counting] });
    expect(seen).toBe(6); // all facts up to turn.started
  });
});

describe("the tool hook", () => {
  const hooked = (hook: NonNullable<PluginDefinition<unknown>["tool"]>, name = "hooked"): Plugin =>
    plugin({ name, tool: hook });
  const endOf = (log: readonly Fact[]) => ofType(log, "tool.finished")[0];

  it("HOOK-01 runs around the call, the first outermost, and may transform the result", async () => {
    const order: string[] = [];
    const wrap = (name: string): Plugin =>
      hooked(async (call, _context, next) => {
        order.push(`${name} in`);
        const output = await next(call);
        order.push(`${name} out`);
        return { ...output, content: [...output.content, { type: "text", text: ` ${name}` }] };
      }, name);
    const { log } = await play({ plugins: [wrap("a"), wrap("b")], tools: [look()], turns: [calls] });
    expect(order).toEqual(["a in", "b in", "b out", "a out"]);
    expect(textOf(endOf(log)?.output.content ?? [])).toBe("saw door b a");
  });

  it("TOOL-15 rewrites the error of a tool: the model reads the new one, and it is an error still", async () => {
    const broken = tool({
      name: "look",
      description: "Fails.",
      input: z.object({}),
      execute: () => Promise.reject(new Error("ECONNREFUSED 10.0.0.1")),
    });
    const kind = hooked(async (call, context, next) => {
      const output = await next(call);
      return output.isError === true
        ? context.answer("The door is out of reach; try later.", { isError: true })
        : output;
    });
    const { log } = await play({ plugins: [kind], tools: [broken], turns: [calls] });
    expect(endOf(log)).toMatchObject({
      status: "error",
      output: { isError: true, content: [{ text: "The door is out of reach; try later." }] },
    });
    expect(JSON.stringify(ofType(log, "message.added"))).not.toContain("ECONNREFUSED");
  });

  it("HOOK-07 changes the input, which is checked and judged again", async () => {
    const ran: string[] = [];
    const move = (at: unknown): Plugin => hooked((call, _context, next) => next({ ...call, input: { at } as never }));
    const moved = await play({ plugins: [move("window")], tools: [look(ran)], turns: [calls] });
    expect(ran).toEqual(["window"]);
    expect(ofType(moved.log, "tool.started")[0]?.input).toEqual({ at: "window" });
    const wrong = await play({ plugins: [move(5)], tools: [look(ran)], turns: [calls] });
    expect(endOf(wrong.log)).toMatchObject({ status: "error" });
    expect(textOf(endOf(wrong.log)?.output.content ?? [])).toMatch(/^Wrong arguments for look: at:/);
    const careful = tool({
      name: "look",
      description: "Looks.",
      input: z.object({ at: z.string() }),
      permission: ({ at }) => (at === "safe" ? "deny" : "allow"),
      execute: ({ at }) => void ran.push(at),
    });
    const judged = await play({ plugins: [move("safe")], tools: [careful], turns: [calls] });
    expect(endOf(judged.log)).toMatchObject({ status: "denied" });
    expect(ran).toEqual(["window"]);
  });

  it("TOOL-19 answers instead of the call", async () => {
    const ran: string[] = [];
    const { log } = await play({
      plugins: [hooked((_call, context) => context.answer("Seen before"))],
      tools: [look(ran)],
      turns: [calls],
    });
    expect(ran).toEqual([]);
    expect(endOf(log)).toMatchObject({ status: "ok", output: { content: [{ text: "Seen before" }] } });
    expect(ofType(log, "tool.started")).toEqual([]);
  });

  it("PERM-04 denies: the model reads the reason", async () => {
    const ran: string[] = [];
    const { log } = await play({
      plugins: [hooked((_call, context) => context.deny("Not now"))],
      tools: [look(ran)],
      turns: [calls],
    });
    expect(ran).toEqual([]);
    expect(endOf(log)).toMatchObject({ status: "denied", output: { content: [{ text: "Not now" }], isError: true } });
  });

  it("PERM-04 a verdict of deny wins over rules that allow", async () => {
    const { log } = await play({
      plugins: [hooked((call, _context, next) => next({ ...call, verdict: "deny" }))],
      tools: [look()],
      turns: [calls],
      definition: { permission: { allow: ["look"] } },
    });
    expect(endOf(log)).toMatchObject({ status: "denied" });
  });

  it("PERM-04 PERM-06 a verdict of ask asks, also in bypass mode", async () => {
    const { log } = await play({
      plugins: [hooked((call, _context, next) => next({ ...call, verdict: "ask" }))],
      tools: [look()],
      turns: [calls],
      options: { permission: { mode: "bypass" }, onRequest: async () => ({ type: "permission", allow: true }) },
    });
    expect(ofType(log, "request.opened")).toHaveLength(1);
    expect(endOf(log)).toMatchObject({ status: "ok" });
  });

  it("PERM-04 a verdict of allow allows what would be asked by default", async () => {
    const asking = tool({
      name: "look",
      description: "Looks.",
      input: z.object({ at: z.string() }),
      permission: "ask",
      execute: () => "saw",
    });
    for (const mode of ["ask", "never-ask"] as const) {
      const { log } = await play({
        plugins: [hooked((call, _context, next) => next({ ...call, verdict: "allow" }))],
        tools: [asking],
        turns: [calls],
        options: { permission: { mode }, onRequest: async () => ({ type: "permission", allow: false }) },
      });
      expect(ofType(log, "request.opened")).toEqual([]);
      expect(endOf(log)).toMatchObject({ status: "ok" });
    }
  });

  it("HOOK-14 a failure before next denies the call, with a notice", async () => {
    const ran: string[] = [];
    const { log, notices, result } = await play({
      plugins: [hooked(boom)],
      tools: [look(ran)],
      turns: [calls, { text: "Ok." }],
    });
    expect(ran).toEqual([]);
    expect(endOf(log)).toMatchObject({
      status: "denied",
      output: { content: [{ text: "Refused: Hook tool of plugin hooked failed: boom" }] },
    });
    expect(notices).toEqual(["hook-failed", "Hook tool of plugin hooked failed: boom"]);
    expect(result.reason).toBe("end-turn");
  });

  it("HOOK-14 a failure after next keeps the raw result, with a notice", async () => {
    const { log, notices } = await play({
      plugins: [
        hooked(async (call, _context, next) => {
          await next(call);
          return boom();
        }),
      ],
      tools: [look()],
      turns: [calls],
    });
    expect(endOf(log)).toMatchObject({ status: "ok", output: { content: [{ text: "saw door" }] } });
    expect(notices).toEqual(["hook-failed", "Hook tool of plugin hooked failed: boom"]);
  });

  it("HOOK-02 HOOK-14 a hook that takes too long denies the call, which does not run later either", async () => {
    const ran: string[] = [];
    const gate = Promise.withResolvers<void>();
    const { guide, runtime } = await open({
      plugins: [
        hooked(async (call, _context, next) => {
          await gate.promise;
          return next(call);
        }),
      ],
      tools: [look(ran)],
      turns: [calls, { text: "Ok." }],
    });
    const run = await runtime.send(guide, "Go");
    const result = run.result();
    await runtime.clock.advance(10_000);
    expect(await soon(result)).toMatchObject({ reason: "end-turn" });
    const before = await logOf(runtime.store, run.session.id);
    expect(endOf(before)).toMatchObject({ status: "denied" });
    gate.resolve();
    await runtime.clock.advance(0);
    expect(ran).toEqual([]);
    expect(await logOf(runtime.store, run.session.id)).toEqual(before);
    await runtime.close();
  });

  it("HOOK-02 the time in next does not count, the time after it does", async () => {
    const gate = Promise.withResolvers<string>();
    let after = 0;
    const slow = tool({ name: "look", description: "Looks.", input: nothing, execute: () => gate.promise });
    const { guide, runtime } = await open({
      plugins: [
        hooked(async (call, _context, next) => {
          await next(call);
          after += 1;
          return never;
        }),
      ],
      tools: [slow],
      turns: [{ calls: [{ name: "look", input: {} }] }, { text: "Ok." }],
    });
    const run = await runtime.send(guide, "Go");
    const result = run.result();
    await runtime.clock.advance(60_000);
    expect(endOf(await logOf(runtime.store, run.session.id))).toBeUndefined();
    gate.resolve("seen");
    await until(() => after === 1);
    await runtime.clock.advance(9_999);
    expect(endOf(await logOf(runtime.store, run.session.id))).toBeUndefined();
    await runtime.clock.advance(1);
    await soon(result);
    expect(endOf(await logOf(runtime.store, run.session.id))).toMatchObject({
      status: "ok",
      output: { content: [{ text: "seen" }] },
    });
    await runtime.close();
  });

  it("LOOP-29 a CapstanError of the tool passes through the hooks and ends the run", async () => {
    const fatal = tool({
      name: "look",
      description: "Looks.",
      input: nothing,
      execute: () => {
        throw new CapstanError("model-key-missing", "Set a key");
      },
    });
    const { result, notices } = await play({
      plugins: [hooked((call, _context, next) => next(call))],
      tools: [fatal],
      turns: [calls],
    });
    expect(result).toMatchObject({ reason: "error", error: { code: "model-key-missing" } });
    expect(notices).toEqual([]);
  });

  it("EDGE-02 calling next twice performs once", async () => {
    const ran: string[] = [];
    const { log } = await play({
      plugins: [
        hooked(async (call, _context, next) => {
          await next(call);
          return next(call);
        }),
      ],
      tools: [look(ran)],
      turns: [calls],
    });
    expect(ran).toEqual(["door"]);
    expect(endOf(log)).toMatchObject({ status: "ok" });
  });
});

describe("the stop hook", () => {
  it("LOOP-33 adds one more message, which counts as a turn", async () => {
    let asked = 0;
    const again = plugin({ name: "again", stop: () => (asked++ === 0 ? "Check it once more." : undefined) });
    const { result, model } = await play({ plugins: [again], turns: [{ text: "Done." }, { text: "Checked." }] });
    expect(result).toMatchObject({ reason: "end-turn", text: "Checked.", turns: 2 });
    expect(model.requests[1]?.messages.at(-1)).toEqual({
      id: "run_1/stop/1",
      role: "user",
      parts: [{ type: "text", text: "Check it once more." }],
    });
  });

  it("LOOP-33 LOOP-04 cannot go on for ever", async () => {
    const again = plugin({ name: "again", stop: () => "More!" });
    const { result } = await play({ plugins: [again], definition: { limits: { turns: 3 } } });
    expect(result).toMatchObject({ reason: "max-turns", turns: 3 });
  });

  it("puts what several say into one message", async () => {
    let asked = 0;
    const say = (name: string): Plugin => plugin({ name, stop: () => (asked++ < 2 ? name : undefined) });
    const { model } = await play({ plugins: [say("a"), say("b")] });
    expect(model.requests[1]?.messages.at(-1)?.parts).toEqual([
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ]);
  });

  it("HOOK-14 its failure is a notice", async () => {
    const { result, notices } = await play({ plugins: [plugin({ name: "bad", stop: boom })] });
    expect(result).toMatchObject({ reason: "end-turn", text: "Ok." });
    expect(notices).toEqual(["hook-failed", "Hook stop of plugin bad failed: boom"]);
  });

  it("is not asked when a run ends for another reason", async () => {
    let asked = 0;
    const stop = plugin({ name: "stop", stop: () => void asked++ });
    await play({
      plugins: [stop],
      turns: [
        { text: "x", reason: "length" },
        { text: "y", reason: "length" },
      ],
    });
    expect(asked).toBe(0);
  });
});

describe("the on hook", () => {
  it("HOOK-11 sees every fact and live event of its sessions, in their order", async () => {
    const seen: string[] = [];
    const watch = plugin({ name: "watch", on: ({ event }) => void seen.push(event.type) });
    const { log } = await play({ plugins: [watch] });
    const facts = seen.filter((type) => log.some((fact) => fact.type === type));
    expect(facts.slice(0, 7)).toEqual([
      "input.accepted",
      "run.started",
      "prefix.set",
      "message.added",
      "turn.started",
      "message.added",
      "turn.finished",
    ]);
    expect(seen).toContain("text.delta");
  });

  it("HOOK-11 HOOK-14 one that always throws is reported without end neither for itself nor for others", async () => {
    let called = 0;
    const seen: string[] = [];
    const bad = plugin({
      name: "bad",
      on: () => {
        if (++called < 2_000) boom();
      },
    });
    const good = plugin({ name: "good", on: ({ event }) => void seen.push(event.type) });
    const { result, notices } = await play({ plugins: [bad, good] });
    expect(result.text).toBe("Ok.");
    expect(seen).toContain("run.finished");
    expect(notices).toContain("Hook on of plugin bad failed");
    expect(called).toBeLessThan(200);
  });

  it("sees the sessions of its own agent only", async () => {
    const seen = new Set<string>();
    const watch = plugin({ name: "watch", on: ({ agent: name }) => void seen.add(name) });
    const model = scriptedModel([]);
    const mine = agent({ name: "mine", model, instructions: "x", plugins: [watch] });
    const other = agent({ name: "other", model, instructions: "x" });
    const runtime = await testRuntime({ agents: [mine, other] });
    await soon((await runtime.send(mine, "Go")).text());
    await soon((await runtime.send(other, "Go")).text());
    await runtime.close();
    expect([...seen]).toEqual(["mine"]);
  });

  it("HOOK-11 is never awaited", async () => {
    const gate = Promise.withResolvers<void>();
    const slow = plugin({ name: "slow", on: () => gate.promise });
    const guide = agent({ name: "guide", model: scriptedModel([{ text: "Ok." }]), instructions: "x", plugins: [slow] });
    const runtime = await testRuntime({ agents: [guide] });
    expect(await soon((await runtime.send(guide, "Go")).text())).toBe("Ok.");
    gate.resolve();
    await runtime.close();
  });
});

describe("durable state of a plugin", () => {
  it("EDGE-02 record writes a data fact that the fold sees, step runs once, both also in a later process", async () => {
    const store = memoryStore();
    const ids = fixedIds();
    let performed = 0;
    const own: unknown[] = [];
    const counting = plugin<number>({
      name: "counting",
      fold: {
        start: 0,
        next: (sum, fact) => (fact.type === "data" && fact.name === "plugin/counting" ? sum + Number(fact.data) : sum),
      },
      async prepare(_request, context) {
        own.push(context.own);
        const value = await context.step("price", () => ++performed);
        await context.record(value);
      },
    });
    const clock = fakeClock();
    const start = async (turns: readonly ScriptedReply[]) => {
      const guide = agent({ name: "guide", model: scriptedModel(turns), instructions: "x", plugins: [counting] });
      const runtime = await openRuntime({
        agents: [guide],
        engine: storeEngine(store, { clock, ids }),
        host: { clock, ids },
      });
      return { runtime, session: await runtime.session({ agent: guide, key: "one" }) };
    };
    const first = await start([{ text: "a" }]);
    await soon((await first.session.send("1")).text());
    await first.runtime.close();
    const second = await start([{ text: "a" }, { text: "b" }]);
    await soon((await second.session.send("2")).text());
    await second.runtime.close();
    expect(own).toEqual([0, 1]);
    expect(performed).toBe(2);
    const log = await logOf(store, first.session.id);
    expect(ofType(log, "data").map(({ name, data, key }) => [name, data, key])).toEqual([
      ["plugin/counting", 1, "run_1/prepare/1/counting/data/1"],
      ["plugin/counting", 2, "run_2/prepare/1/counting/data/1"],
    ]);
    expect(ofType(log, "step.finished").map(({ name, value }) => [name, value])).toEqual([
      ["run_1/prepare/1/counting/price", 1],
      ["run_1/prepare/1/counting/data/1", null],
      ["run_2/prepare/1/counting/price", 2],
      ["run_2/prepare/1/counting/data/1", null],
    ]);
  });

  it("a step name used twice in one hook is a fault of the plugin", async () => {
    const twice = plugin({
      name: "twice",
      async prepare(_request, context) {
        await context.step("a", () => 1);
        await context.step("a", () => 2);
      },
    });
    const { result } = await play({ plugins: [twice] });
    expect(result).toMatchObject({ reason: "error", error: { code: "flow-diverged" } });
  });

  it("EDGE-02 with a hook the raw result is in the log before the hook's own end", async () => {
    const after: string[] = [];
    const { guide, runtime } = await open({
      plugins: [
        plugin({
          name: "post",
          async tool(call, context, next) {
            const output = await next(call);
            const log = await logOf(runtime.store, context.sessionId);
            after.push(...ofType(log, "step.finished").map(({ name }) => name));
            return output;
          },
        }),
      ],
      tools: [look()],
      turns: [calls, { text: "Ok." }],
    });
    const run = await runtime.send(guide, "Go");
    await soon(run.result());
    await until(async () => ofType(await logOf(runtime.store, run.session.id), "step.finished").length > 0);
    expect(ofType(await logOf(runtime.store, run.session.id), "step.finished")[0]).toMatchObject({
      name: `call/${run.id}/1/0/raw`,
      value: { status: "ok", output: { content: [{ type: "text", text: "saw door" }] } },
    });
    await runtime.close();
  });

  it("two plugins of one name would share a fold: refused when the runtime opens", async () => {
    const one = plugin({ name: "same" });
    const guide = agent({
      name: "guide",
      model: scriptedModel([]),
      instructions: "x",
      plugins: [plugin({ name: "same" })],
    });
    await expect(testRuntime({ agents: [guide], plugins: [one] })).rejects.toMatchObject({ code: "plugin-invalid" });
  });
});

describe("plugin", () => {
  it("HOOK-02 needs a name, and is frozen", () => {
    expect(() => plugin({ name: " " })).toThrow(expect.objectContaining({ code: "plugin-invalid" }));
    expect(Object.isFrozen(plugin({ name: "a" }))).toBe(true);
  });

  it("opens once with the runtime and is disposed when it closes, the last first", async () => {
    const order: string[] = [];
    const made = (name: string): Plugin =>
      plugin({
        name,
        open: () => {
          order.push(`open ${name}`);
          return { [Symbol.asyncDispose]: async () => void order.push(`close ${name}`) };
        },
      });
    const shared = made("shared");
    const model = scriptedModel([]);
    const agents = ["a", "b"].map((name) => agent({ name, model, instructions: "x", plugins: [shared] }));
    const runtime = await testRuntime({ agents, plugins: [made("global")] });
    await runtime.close();
    await runtime.close();
    expect(order).toEqual(["open global", "open shared", "close shared", "close global"]);
  });

  it("gives its tools to the agent", async () => {
    const ran: string[] = [];
    for (const where of ["agent", "runtime"] as const) {
      const kit = plugin({ name: "kit", tools: [look(ran)] });
      const { log, model } = await play({
        plugins: where === "agent" ? [kit] : [],
        turns: [calls],
        options: where === "runtime" ? { plugins: [kit] } : {},
      });
      expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["look"]);
      expect(ofType(log, "tool.finished")[0]?.status).toBe("ok");
    }
    expect(ran).toEqual(["door", "door"]);
  });

  it("HOOK-14 onFailure ignore: a hook that fails is passed over with a notice", async () => {
    const odd = plugin({ name: "odd", onFailure: "ignore", prepare: boom, input: boom, tool: boom });
    const { result, log } = await play({ plugins: [odd], tools: [look()], turns: [calls, { text: "Ok." }] });
    expect(result).toMatchObject({ reason: "end-turn", text: "Ok." });
    expect(ofType(log, "tool.finished")[0]?.status).toBe("ok");
  });

  it("HOOK-14 onFailure fail: a stop hook that fails ends the run with an error", async () => {
    const strict = plugin({ name: "strict", onFailure: "fail", stop: boom });
    const { result } = await play({ plugins: [strict] });
    expect(result).toMatchObject({ reason: "error", error: { code: "hook-failed" } });
  });
});
