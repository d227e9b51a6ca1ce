import { describe, expect, it } from "vitest";
import {
  agent,
  type AgentLimits,
  jsonSchema,
  type Model,
  type ModelEvent,
  type Plugin,
  tool,
  type Usage,
} from "@capstan/core";
import {
  type ScriptedModel,
  scriptedModel,
  type ScriptedTurn,
  testRuntime,
  type TestRuntime,
} from "@capstan/core/testing";
import { cacheWarming } from "./index.ts";

const MINUTE = 60_000;
const PROMPT = 100_000;
/** Of US dollars a million tokens, as a Claude model costs. */
const PRICE = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };

type Clock = { monotonic(): number };
type Cached = ScriptedModel & { clock: Clock | undefined; readonly usages: Usage[] };

/** A model whose provider forgets a prompt five minutes after its last use, counted from the beginning of the call. */
function cachingModel(
  turns: readonly ScriptedTurn[],
  options: { readonly cached?: boolean; readonly forgetful?: boolean } = {},
): Cached {
  const scripted = scriptedModel(turns, { capabilities: { cacheMarkers: true }, price: PRICE });
  const usages: Usage[] = [];
  let usedAt = -Infinity;
  const model: Cached = {
    ...scripted,
    clock: undefined,
    usages,
    async *stream(request) {
      const now = model.clock?.monotonic() ?? 0;
      const known = now - usedAt < 5 * MINUTE && options.forgetful !== true;
      usedAt = now;
      const outputTokens = Math.min(200, request.settings.maxOutputTokens ?? 200);
      const tokens =
        options.cached === false
          ? { inputTokens: PROMPT }
          : known
            ? { inputTokens: 0, cacheReadTokens: PROMPT }
            : { inputTokens: 0, cacheWriteTokens: PROMPT };
      const usage: Usage = { outputTokens, ...tokens, costMicroUsd: costOf({ outputTokens, ...tokens }) };
      usages.push(usage);
      for await (const batch of scripted.stream(request)) yield batch.map((event) => priced(event, usage));
    },
  };
  return model;
}

function priced(event: ModelEvent, usage: Usage): ModelEvent {
  return event.type === "finish" ? { ...event, usage } : event;
}

function costOf({ inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 }: Usage): number {
  return (
    inputTokens * PRICE.input +
    outputTokens * PRICE.output +
    cacheReadTokens * PRICE.cacheRead +
    cacheWriteTokens * PRICE.cacheWrite
  );
}

type Scene = { readonly runtime: TestRuntime; readonly release: () => void; readonly started: Promise<void> };

/** An agent whose only tool works until it is released. */
async function scene(model: Cached, plugins: readonly Plugin[], limits: AgentLimits = {}): Promise<Scene> {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const { promise: started, resolve: start } = Promise.withResolvers<void>();
  const build = tool({
    name: "build",
    description: "Builds.",
    input: jsonSchema<object>({ type: "object" }),
    timeoutMs: 3_600_000,
    async execute(_input, { signal }) {
      signal.addEventListener("abort", () => release());
      start();
      await promise;
      return "built";
    },
  });
  const guide = agent({
    name: "guide",
    model: model as Model,
    instructions: "Build.",
    tools: [build],
    plugins,
    limits,
  });
  const runtime = await testRuntime({ agents: [guide] });
  model.clock = runtime.clock;
  return { runtime, release, started };
}

const TURNS: readonly ScriptedTurn[] = [{ calls: [{ name: "build", input: {} }] }, { text: "Built." }];

/** One run whose tool takes so long; what the session cost, in millionths of a dollar. */
async function costAfter(
  minutes: number,
  plugins: readonly Plugin[],
  model: Cached = cachingModel(TURNS),
  limits: AgentLimits = {},
) {
  const { runtime, release, started } = await scene(model, plugins, limits);
  await using _ = runtime;
  const session = await runtime.session({ agent: "guide" });
  const run = await session.send("Go");
  await started;
  for (let at = 0; at < minutes; at += 0.5) await runtime.clock.advance(MINUTE / 2);
  release();
  const { reason, usage } = await run.result();
  const state = await session.state();
  return {
    reason,
    run: usage,
    cost: state.usage.costMicroUsd ?? 0,
    calls: model.usages,
    model,
    pending: runtime.clock.pending,
  };
}

describe("cacheWarming", () => {
  it("COST-10 makes a run whose tool takes 12 minutes cheaper: two reads in place of a write", async () => {
    const without = await costAfter(12, []);
    const warmed = await costAfter(12, [cacheWarming()]);
    expect(without.calls.map(({ cacheWriteTokens }) => cacheWriteTokens)).toEqual([PROMPT, PROMPT]);
    expect(warmed.calls.map(({ cacheReadTokens = 0 }) => cacheReadTokens)).toEqual([0, PROMPT, PROMPT, PROMPT]);
    expect(warmed.calls.map(({ outputTokens }) => outputTokens)).toEqual([200, 1, 1, 200]);
    expect(warmed.cost).toBeLessThan(without.cost);
    expect(without.cost - warmed.cost).toBe(PROMPT * (PRICE.cacheWrite - 3 * PRICE.cacheRead) - 2 * PRICE.output);
    expect(warmed.cost).toBe(warmed.calls.reduce((sum, usage) => sum + costOf(usage), 0)); // all of it is the session's
  });

  it("COST-10 sends the same prefix again: nothing but the room for the answer differs", async () => {
    const { model } = await costAfter(5, [cacheWarming()]);
    const [first, again, second] = model.requests;
    const { settings, signal: _signal, ...same } = again ?? { settings: {} };
    expect(same).toEqual({
      ...same,
      system: first?.system,
      tools: first?.tools,
      messages: first?.messages,
      cache: first?.cache,
    });
    expect(settings).toEqual({ ...first?.settings, maxOutputTokens: 1 });
    expect(second?.messages.length).toBeGreaterThan(first?.messages.length ?? 0);
  });

  it("COST-10 does nothing while calls follow each other sooner than the cache is forgotten", async () => {
    expect((await costAfter(4, [cacheWarming()])).calls).toHaveLength(2);
  });

  it("COST-10 stops after so many reads", async () => {
    expect((await costAfter(60, [cacheWarming()])).calls).toHaveLength(2 + 4);
    expect((await costAfter(60, [cacheWarming({ times: 1 })])).calls).toHaveLength(2 + 1);
    for (const times of [0, -1, 1.5, Number.NaN]) expect(() => cacheWarming({ times })).toThrow(/whole number/);
  });

  it("COST-10 never without a cache, and not again once it was forgotten all the same", async () => {
    expect((await costAfter(20, [cacheWarming()], cachingModel(TURNS, { cached: false }))).calls).toHaveLength(2);
    const forgetful = await costAfter(20, [cacheWarming()], cachingModel(TURNS, { forgetful: true }));
    expect(forgetful.calls).toHaveLength(3); // one try, which was a write, ended it
  });

  it("COST-10 waits for a person too, and ends with the run", async () => {
    const model = cachingModel(TURNS);
    const guide = agent({
      name: "guide",
      model,
      instructions: "Build.",
      plugins: [cacheWarming()],
      tools: [
        tool({
          name: "build",
          description: "Builds.",
          input: jsonSchema<object>({ type: "object" }),
          execute: () => "built",
        }),
      ],
    });
    await using runtime = await testRuntime({ agents: [guide], permission: { mode: "ask", ask: ["build"] } });
    model.clock = runtime.clock;
    const session = await runtime.session({ agent: "guide" });
    const run = await session.send("Go");
    const [request] = await opened(runtime);
    for (let at = 0; at < 12; at += 0.5) await runtime.clock.advance(MINUTE / 2); // the hold has long parked
    await session.respond(request?.requestId ?? "", { type: "permission", allow: true });
    expect((await run.result()).reason).toBe("end-turn");
    expect(model.usages.map(({ cacheReadTokens = 0 }) => cacheReadTokens)).toEqual([0, PROMPT, PROMPT, PROMPT]);
    const calls = model.usages.length;
    for (let at = 0; at < 30; at++) await runtime.clock.advance(MINUTE);
    expect(model.usages).toHaveLength(calls);
  });

  it("COST-10 ends when the run is interrupted while it waits", async () => {
    const model = cachingModel(TURNS);
    const { runtime, started } = await scene(model, [cacheWarming()]);
    await using _ = runtime;
    const session = await runtime.session({ agent: "guide" });
    const run = await session.send("Go");
    await started;
    await session.interrupt();
    await runtime.clock.advance(1_000);
    expect((await run.result()).reason).toBe("interrupted");
    for (let at = 0; at < 30; at++) await runtime.clock.advance(MINUTE);
    expect(model.usages).toHaveLength(1);
  });

  it("COST-08 COST-10 counts in the limits of the run, and asks for nothing that they could not pay", async () => {
    const first = costOf({ inputTokens: 0, outputTokens: 200, cacheWriteTokens: PROMPT });
    const write = Math.ceil((PROMPT + 200) * PRICE.cacheWrite + PRICE.output); // what a read could cost at most
    const usd = (microUsd: number): AgentLimits => ({ usd: microUsd / 1_000_000 });
    const tight = await costAfter(12, [cacheWarming()], cachingModel(TURNS), usd(first + write - 1));
    expect(tight.calls.filter(({ outputTokens }) => outputTokens === 1)).toEqual([]);
    const read = costOf({ inputTokens: 0, outputTokens: 1, cacheReadTokens: PROMPT });
    const once = await costAfter(12, [cacheWarming()], cachingModel(TURNS), usd(first + write + read - 1));
    expect(once.calls.filter(({ outputTokens }) => outputTokens === 1)).toHaveLength(1); // the first counts against the second
    expect(once.cost).toBeLessThanOrEqual(first + write + read - 1);
    expect(once.run.costMicroUsd).toBe(once.cost - read); // the run's own turns; the session has all
  });

  it("leaves no timer and no call behind when its runtime closes", async () => {
    expect((await costAfter(5, [cacheWarming()])).pending).toBe((await costAfter(5, [])).pending);
    const model = cachingModel(TURNS);
    const { runtime, started } = await scene(model, [cacheWarming()]);
    await (await runtime.session({ agent: "guide" })).send("Go");
    await started;
    const closing = runtime.close({ graceMs: 0 });
    await runtime.clock.advance(30 * MINUTE);
    await closing;
    expect(model.usages).toHaveLength(1);
  });
});

async function opened(runtime: TestRuntime) {
  for (let turn = 0; turn < 2_000; turn++) {
    const requests = await runtime.requests();
    if (requests.length > 0) return requests;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error("nobody was asked");
}
