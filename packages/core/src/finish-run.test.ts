import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, type AgentDefinition } from "./ports/agent.ts";
import { INTERRUPT_MARKER } from "./state/said.ts";
import type { Message } from "./words/message.ts";
import { type Plugin, plugin } from "./ports/plugin.ts";
import { scriptedModel, type ScriptedReply } from "./testing/scripted-model.ts";
import { testRuntime, type TestRuntimeOptions } from "./testing/test-runtime.ts";
import { flowTool, tool, type Tool } from "./ports/tool.ts";
import { logOf, ofType, soon, until } from "./testing/waiting.ts";

type Setup = {
  readonly tools?: readonly Tool[];
  readonly turns: readonly ScriptedReply[];
  readonly plugins?: readonly Plugin[];
  readonly definition?: Partial<AgentDefinition>;
  readonly options?: Partial<TestRuntimeOptions>;
};

async function open({ tools = [], turns, plugins = [], definition = {}, options = {} }: Setup) {
  const model = scriptedModel(turns);
  const guide = agent({ name: "guide", model, instructions: "x", tools, plugins, ...definition });
  const runtime = await testRuntime({ agents: [guide], ...options });
  return { guide, model, runtime };
}

/** What every provider asks of a history: calls are answered right after, nothing else is, roles make sense. */
function checkHistory(messages: readonly Message[]): void {
  expect(messages[0]?.role ?? "user").toBe("user");
  for (const [index, message] of messages.entries()) {
    expect(message.parts.length).toBeGreaterThan(0);
    const asked = message.parts.flatMap((part) => (part.type === "tool-call" ? part.callId : []));
    const answered = (messages[index + 1]?.parts ?? []).flatMap((part) =>
      part.type === "tool-result" ? part.callId : [],
    );
    if (message.role === "assistant") expect(answered).toEqual(asked);
    else expect(asked).toEqual([]);
    if (message.parts.some((part) => part.type === "tool-result")) expect(messages[index - 1]?.role).toBe("assistant");
  }
}

const nothing = z.object({});
const never = new Promise<never>(() => undefined);
const marker = { type: "text", text: INTERRUPT_MARKER };

/** A tool that tells when it has started. */
function waiting(
  name: string,
  execute: (signal: AbortSignal) => Promise<string>,
  fields: Partial<Parameters<typeof tool>[0]> = {},
): { readonly made: Tool; readonly started: Promise<void>; readonly count: () => number } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let starts = 0;
  const made = tool({
    name,
    description: "Waits.",
    input: nothing,
    ...fields,
    execute: (_input, { signal }) => {
      starts += 1;
      resolve();
      return execute(signal);
    },
  });
  return { made, started: promise, count: () => starts };
}
const obeys = (signal: AbortSignal): Promise<string> =>
  new Promise((_resolve, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );

describe("an interrupt while the model speaks", () => {
  it("LOOP-08 keeps text and finished reasoning, drops the open thought and every call, and puts the marker last", async () => {
    const table: readonly [ScriptedReply, readonly unknown[]][] = [
      [{ text: "Half of it", hold: never }, [{ type: "text", text: "Half " }, marker]],
      [{ reasoning: "I think so", hold: never }, [marker]],
      [
        { reasoning: "Hm", text: "Yes", calls: [{ name: "x", input: {} }], hold: never, deltas: 1 },
        [{ type: "reasoning", text: "Hm" }, marker],
      ],
      [{ calls: [{ name: "x", input: {} }], hold: never }, [marker]],
      [{ hold: never }, [marker]],
    ];
    for (const [turn, parts] of table) {
      const { guide, model, runtime } = await open({ turns: [turn, { text: "Go on." }] });
      const session = await runtime.session({ agent: guide });
      const run = await session.send("Go");
      await until(() => model.requests.length === 1);
      await runtime.clock.advance(0);
      await soon(session.interrupt());
      const result = await soon(run.result());
      expect(result).toMatchObject({ status: "finished", reason: "interrupted", turns: 1 });
      expect(result.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
      if (turn !== table[2]?.[0]) expect(result.messages[1]?.parts).toEqual(parts);
      else expect(result.messages[1]?.parts.at(-1)).toEqual(marker);
      await expect(run.text()).rejects.toMatchObject({ code: "interrupted" });
      await soon((await session.send("And now?")).text());
      checkHistory(await session.messages());
      const log = await logOf(runtime.store, session.id);
      expect(ofType(log, "run.finished").filter(({ runId }) => runId === run.id)).toHaveLength(1);
      expect(ofType(log, "turn.finished")[0]).toMatchObject({ reason: "interrupted" });
      await runtime.close();
    }
  });

  it("LOOP-08 keeps a finished call of an unfinished message out of the history", async () => {
    const gate = Promise.withResolvers<void>();
    const model: ScriptedReply = {
      text: "I look",
      calls: [
        { name: "x", input: {} },
        { name: "x", input: { long: "argument" } },
      ],
      hold: gate.promise,
      deltas: 1,
    };
    const { guide, runtime, model: scripted } = await open({ turns: [model] });
    const run = await runtime.send(guide, "Go");
    await until(() => scripted.requests.length === 1);
    await soon(run.session.interrupt());
    const { messages } = await soon(run.result());
    expect(messages[1]?.parts).toEqual([{ type: "text", text: "I look" }, marker]);
    checkHistory(messages);
    await runtime.close();
  });

  it("LOOP-36 ends the wait before a retry", async () => {
    const { guide, runtime, model } = await open({ turns: [{ text: "abcdef", cutAfter: 1 }] });
    const run = await runtime.send(guide, "Go");
    await until(() => model.requests.length === 1);
    await runtime.clock.advance(0);
    await soon(run.session.interrupt());
    expect(await soon(run.result())).toMatchObject({ reason: "interrupted" });
    const log = await logOf(runtime.store, run.session.id);
    expect(ofType(log, "turn.started")).toHaveLength(1);
    expect(ofType(log, "turn.finished")[0]?.reason).toBe("interrupted");
    expect(ofType(log, "message.added").at(-1)?.message.parts).toEqual([marker]);
    await runtime.close();
  });
});

describe("an interrupt while a person is asked", () => {
  const guarded = tool({
    name: "guarded",
    description: "Asks.",
    input: nothing,
    permission: () => "ask",
    execute: () => "ran",
  });
  const setup: Setup = {
    tools: [guarded],
    turns: [{ text: "May I?", calls: [{ name: "guarded", input: {} }] }, { text: "Next." }],
    options: { permission: { mode: "ask" } },
  };

  it("LOOP-09 gives the call an Interrupted error, closes the request and adds the marker", async () => {
    const { guide, runtime } = await open(setup);
    const run = await runtime.send(guide, "Go");
    const { requests } = await soon(run.result());
    await soon(run.session.interrupt());
    expect(await soon(run.result())).toMatchObject({ reason: "interrupted", turns: 1 });
    const log = await logOf(runtime.store, run.session.id);
    const start = log.findIndex(({ type }) => type === "run.suspended");
    expect(log.slice(start + 1)).toEqual([
      expect.objectContaining({
        type: "request.resolved",
        requestId: requests[0]?.requestId,
        answer: { type: "permission", allow: false, reason: "nobody answered in time" },
        by: { id: "interrupt" },
      }),
      expect.objectContaining({
        type: "tool.finished",
        status: "cancelled",
        output: { content: [{ type: "text", text: "Interrupted" }], isError: true },
      }),
      expect.objectContaining({
        type: "message.added",
        message: { id: `${run.id}/interrupted`, role: "assistant", parts: [marker] },
      }),
      expect.objectContaining({ type: "run.finished", reason: "interrupted" }),
    ]);
    expect(await runtime.requests()).toEqual([]);
    await expect(
      run.session.respond(requests[0]?.requestId ?? "", { type: "permission", allow: true }),
    ).rejects.toMatchObject({ code: "request-closed" });
    await soon((await run.session.send("And?")).text());
    checkHistory(await run.session.messages());
    await runtime.close();
  });

  it("LOOP-09 works on a run that parked", async () => {
    const { guide, runtime } = await open(setup);
    const run = await runtime.send(guide, "Go");
    await soon(run.result());
    await runtime.clock.advance(60_000);
    await soon(run.session.interrupt());
    expect(await soon(run.result())).toMatchObject({ reason: "interrupted" });
    expect((await runtime.sessions())[0]).toMatchObject({ status: "idle", openRequests: [] });
    await runtime.close();
  });

  it("LOOP-09 what was answered and is done stays", async () => {
    const { guide, runtime } = await open({
      ...setup,
      turns: [
        {
          calls: [
            { name: "guarded", input: {} },
            { name: "guarded", input: {} },
          ],
        },
      ],
    });
    const run = await runtime.send(guide, "Go");
    const { requests } = await soon(run.result());
    await soon(run.session.respond(requests[0]?.requestId ?? "", { type: "permission", allow: true }));
    await until(async () => ofType(await logOf(runtime.store, run.session.id), "tool.finished").length === 1);
    await soon(run.session.interrupt());
    const log = await logOf(runtime.store, run.session.id);
    expect(ofType(log, "tool.finished").map(({ status }) => status)).toEqual(["ok", "cancelled"]);
    checkHistory(await run.session.messages());
    await runtime.close();
  });
});

describe("an interrupt while tools run", () => {
  it("LOOP-10 the running one is stopped, finished results stay, the rest is never started", async () => {
    const slow = waiting("slow", obeys);
    const last = waiting("last", () => Promise.resolve("no"));
    const first = waiting("first", () => Promise.resolve("first done"));
    const { guide, runtime } = await open({
      tools: [first.made, slow.made, last.made],
      turns: [{ calls: ["first", "slow", "last"].map((name) => ({ name, input: {} })) }, { text: "Next." }],
    });
    const run = await runtime.send(guide, "Go");
    await slow.started;
    await soon(run.session.interrupt());
    const log = await logOf(runtime.store, run.session.id);
    expect(ofType(log, "tool.finished").map(({ name, status, output }) => [name, status, output.content])).toEqual([
      ["first", "ok", [{ type: "text", text: "first done" }]],
      ["slow", "cancelled", [{ type: "text", text: "Interrupted." }]],
      ["last", "cancelled", [{ type: "text", text: "Interrupted" }]],
    ]);
    expect(log.slice(-2).map(({ type }) => type)).toEqual(["message.added", "run.finished"]);
    expect(last.count()).toBe(0);
    await soon((await run.session.send("And?")).text());
    checkHistory(await run.session.messages());
    await runtime.close();
  });

  it("EDGE-05 a tool that hears nothing is left after 500 ms with an unknown outcome", async () => {
    const deaf = waiting("deaf", () => never);
    const { guide, runtime } = await open({ tools: [deaf.made], turns: [{ calls: [{ name: "deaf", input: {} }] }] });
    const run = await runtime.send(guide, "Go");
    await deaf.started;
    const interrupted = run.session.interrupt();
    await runtime.clock.advance(499);
    expect(ofType(await logOf(runtime.store, run.session.id), "tool.finished")).toEqual([]);
    await runtime.clock.advance(1);
    await soon(interrupted);
    expect(ofType(await logOf(runtime.store, run.session.id), "tool.finished")).toEqual([
      expect.objectContaining({
        status: "unknown",
        output: {
          isError: true,
          content: [
            {
              type: "text",
              text: "Interrupted. It did not stop: its outcome is unknown and it may yet happen. Check before any repeat.",
            },
          ],
        },
      }),
    ]);
    await runtime.close();
  });

  it("EDGE-05 a tool that is not interruptible is waited for, and its result stays", async () => {
    const gate = Promise.withResolvers<string>();
    const write = waiting("write", () => gate.promise, { interruptible: false });
    const { guide, runtime } = await open({ tools: [write.made], turns: [{ calls: [{ name: "write", input: {} }] }] });
    const run = await runtime.send(guide, "Go");
    await write.started;
    const interrupted = run.session.interrupt();
    await runtime.clock.advance(5_000);
    expect(ofType(await logOf(runtime.store, run.session.id), "run.finished")).toEqual([]);
    gate.resolve("written");
    await soon(interrupted);
    expect(ofType(await logOf(runtime.store, run.session.id), "tool.finished")).toEqual([
      expect.objectContaining({ status: "ok", output: { content: [{ type: "text", text: "written" }] } }),
    ]);
    await runtime.close();
  });

  it("EDGE-05 a flow whose step hears nothing does not hold up the interrupt, and does nothing more after it", async () => {
    const inStep = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    const effects: string[] = [];
    const flow = flowTool({
      name: "flow",
      description: "Deaf.",
      input: nothing,
      async flow(_input, context) {
        await context.step("deaf", async () => {
          inStep.resolve();
          await late.promise;
        });
        await context.step("more", () => void effects.push("more"));
        return "done";
      },
    });
    const { guide, runtime } = await open({ tools: [flow], turns: [{ calls: [{ name: "flow", input: {} }] }] });
    const run = await runtime.send(guide, "Go");
    await inStep.promise;
    const interrupted = run.session.interrupt();
    await runtime.clock.advance(1_000);
    await soon(interrupted);
    const before = await logOf(runtime.store, run.session.id);
    expect(ofType(before, "tool.finished")).toHaveLength(1);
    expect(ofType(before, "tool.finished")[0]?.status).toBe("unknown");
    late.resolve();
    await runtime.clock.advance(0);
    expect(effects).toEqual([]);
    expect(await logOf(runtime.store, run.session.id)).toEqual(before);
    await runtime.close();
  });
});

describe("an interrupt in between", () => {
  it("EDGE-05 while an input hook works leaves a history that every provider takes", async () => {
    const inHook = Promise.withResolvers<void>();
    const slow = plugin({
      name: "slow",
      input: async (message, context, next) => {
        if (message.parts[0]?.type === "text" && message.parts[0].text !== "one") return next(message);
        inHook.resolve();
        await obeys(context.signal);
        return next(message);
      },
    });
    const { guide, runtime } = await open({ turns: [{ text: "Ok" }], plugins: [slow] });
    const session = await runtime.session({ agent: guide });
    const run = await session.send("one");
    await inHook.promise;
    await soon(session.interrupt());
    expect(await soon(run.result())).toMatchObject({ status: "finished", reason: "interrupted" });
    expect((await session.state()).status).toBe("idle");
    expect((await runtime.sessions())[0]).toMatchObject({ status: "idle", queued: 0 });
    const next = await session.send("two");
    await soon(next.result());
    checkHistory(await session.messages());
    const busy = await session.send("three", { ifBusy: "reject" });
    await soon(busy.result());
    await runtime.close();
  });

  it("EDGE-05 while a prepare hook works ends the run at once, with reason interrupted", async () => {
    const inHook = Promise.withResolvers<void>();
    const slow = plugin({
      name: "slow",
      async prepare(_request, context) {
        inHook.resolve();
        await obeys(context.signal);
      },
    });
    const { guide, runtime, model } = await open({ turns: [], plugins: [slow] });
    const run = await runtime.send(guide, "Go");
    await inHook.promise;
    await soon(run.session.interrupt());
    const result = await soon(run.result());
    expect(result).toMatchObject({ status: "finished", reason: "interrupted" });
    expect(result.error).toBeUndefined();
    expect(model.requests).toEqual([]);
    checkHistory(await run.session.messages());
    await runtime.close();
  });

  it("EDGE-05 a hook that hears nothing does not hold up the interrupt", async () => {
    const inHook = Promise.withResolvers<void>();
    const deaf = plugin({
      name: "deaf",
      async prepare() {
        inHook.resolve();
        await never;
      },
    });
    const { guide, runtime } = await open({ turns: [], plugins: [deaf] });
    const run = await runtime.send(guide, "Go");
    await inHook.promise;
    const interrupted = run.session.interrupt();
    await runtime.clock.advance(1_000);
    await soon(interrupted);
    expect(await soon(run.result())).toMatchObject({ reason: "interrupted" });
    await runtime.close();
  });

  it("changes nothing when there is no run, when it names another one, and when it comes twice", async () => {
    const { guide, runtime, model } = await open({
      turns: [
        { text: "Ok", hold: Promise.resolve() },
        { text: "Two", hold: never },
      ],
    });
    const session = await runtime.session({ agent: guide });
    await soon(session.interrupt());
    const first = await session.send("one");
    expect(await soon(first.text())).toBe("Ok");
    await soon(session.interrupt());
    await soon(session.interrupt(first.id));
    const before = (await logOf(runtime.store, session.id)).length;
    const second = await session.send("two");
    await until(() => model.requests.length === 2);
    await soon(session.interrupt(first.id));
    await soon(session.interrupt("run_unheard_of"));
    await runtime.clock.advance(0);
    expect(ofType((await logOf(runtime.store, session.id)).slice(before), "run.finished")).toEqual([]);
    await soon(Promise.all([session.interrupt(second.id), session.interrupt(), session.interrupt(second.id)]));
    expect(ofType((await logOf(runtime.store, session.id)).slice(before), "run.finished")).toHaveLength(1);
    expect(await runtime.store.mail(session.id)).toEqual([]);
    await runtime.close();
  });

  it("EDGE-05 an interrupt right after the send stops that run", async () => {
    const { guide, runtime } = await open({ turns: [{ text: "Ok" }] });
    const run = await runtime.send(guide, "Go");
    await soon(run.session.interrupt(run.id));
    const result = await soon(run.result());
    await runtime.close();
    expect(result.reason).toBe("interrupted");
  });

  it("EDGE-05 an interrupting input that comes as the run ends is not interrupted itself", async () => {
    for (let ticks = 0; ticks < 12; ticks++) {
      const gate = Promise.withResolvers<void>();
      const { guide, runtime, model } = await open({ turns: [{ text: "One", hold: gate.promise }, { text: "Two" }] });
      const session = await runtime.session({ agent: guide });
      const first = await session.send("one");
      await until(() => model.requests.length === 1);
      const sending = session.send("two", { ifBusy: "interrupt" });
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      gate.resolve();
      const second = await soon(sending);
      await soon(first.result());
      expect(await soon(second.result())).toMatchObject({ reason: "end-turn", text: "Two" });
      await runtime.close();
    }
  });
});

describe("run.finished", () => {
  it("takes the timers of the run away", async () => {
    const { guide, runtime } = await open({ turns: [{ text: "Ok" }], definition: { limits: { wallMs: 1_000 } } });
    await soon((await runtime.send(guide, "Go")).text());
    expect(await runtime.store.fireTimers(runtime.clock.now() + 1_000_000_000)).toBeUndefined();
    expect(await runtime.store.mail("ses_1")).toEqual([]);
    await runtime.close();
  });

  it("DUR-10 a sleeping flow that was interrupted wakes nobody up later", async () => {
    const nap = flowTool({
      name: "nap",
      description: "Sleeps.",
      input: nothing,
      async flow(_input, context) {
        await context.sleep("long", 10_000);
        return "rested";
      },
    });
    const { guide, runtime, model } = await open({
      tools: [nap],
      turns: [{ calls: [{ name: "nap", input: {} }] }, { text: "Second.", hold: never }],
    });
    const session = await runtime.session({ agent: guide });
    await session.send("one");
    await until(async () => ofType(await logOf(runtime.store, session.id), "run.suspended").length === 1);
    await soon(session.interrupt());
    await session.send("two");
    await until(() => model.requests.length === 2);
    const before = await logOf(runtime.store, session.id);
    await runtime.clock.advance(20_000);
    expect(await logOf(runtime.store, session.id)).toEqual(before);
    await runtime.close({ graceMs: 0 });
  });
});
