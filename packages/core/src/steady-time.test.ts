import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "./ports/agent.ts";
import { type Clock, steady } from "./words/clock.ts";
import { LIMITS } from "./words/limits.ts";
import type { Runtime } from "./session/runtime.ts";
import { fakeClock } from "./testing/fake-clock.ts";
import { scriptedModel } from "./testing/scripted-model.ts";
import { ofType, soon, until } from "./testing/waiting.ts";
import { World } from "./testing/world.ts";
import { flowTool, tool } from "./ports/tool.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const STEPS = [-2 * HOUR, 2 * HOUR, -30 * DAY, 30 * DAY];

/** An agent with one call of this flow, whose run may take 100 s. */
function napper(napMs: number): Parameters<World["open"]>[0] {
  const nap = flowTool({
    name: "nap",
    description: "Sleeps.",
    input: z.object({}),
    flow: async (_input, { sleep }) => {
      await sleep("nap", napMs);
      return "rested";
    },
  });
  const model = scriptedModel([{ calls: [{ name: "nap", input: {} }] }, { text: "Awake." }]);
  return { agents: [agent({ name: "guide", model, instructions: "x", tools: [nap] })], work: "all" };
}

describe("a wall clock that is set while a hold lasts", () => {
  it.each(STEPS)("DUR-10 lets a sleep take as long as it was to take: %d ms", async (step) => {
    const world = new World();
    const runtime = await world.open(napper(10_000));
    const run = await runtime.send("guide", "Go");
    await until(async () => ofType(await world.log(), "step.finished").length === 1, "the sleep");
    await world.clock.advance(4_000);
    world.jump(step);
    await run.session.update({ title: "something to look at" });
    await world.clock.advance(5_900);
    expect(ofType(await world.log(), "tool.finished")).toEqual([]);
    await world.clock.advance(200);
    expect(await soon(run.text())).toBe("Awake.");
    await world.close();
  });

  it.each(STEPS)("LOOP-05 DUR-10 lets a deadline come when it was to come: %d ms", async (step) => {
    const world = new World();
    const stuck = tool({
      name: "stuck",
      description: "Never ends.",
      input: z.object({}),
      execute: (_input, { signal }) =>
        new Promise((_done, fail) => signal.addEventListener("abort", () => fail(signal.reason as Error))),
    });
    const model = scriptedModel([{ calls: [{ name: "stuck", input: {} }] }]);
    const guide = agent({ name: "guide", model, instructions: "x", tools: [stuck], limits: { wallMs: 10_000 } });
    const runtime = await world.open({ agents: [guide], permission: { mode: "never-ask" }, work: "all" });
    const run = await runtime.send("guide", "Go");
    await until(async () => ofType(await world.log(), "tool.started").length === 1, "the call");
    await world.clock.advance(4_000);
    world.jump(step);
    await run.session.update({ title: "something to look at" });
    await world.clock.advance(5_900);
    expect((await run.session.state()).status).toBe("running");
    await world.clock.advance(1_000);
    expect((await soon(run.result())).reason).toBe("deadline");
    await world.close();
  });

  it.each(STEPS)("DUR-06 neither ends nor prolongs the time that a person has: %d ms", async (step) => {
    const world = new World();
    const asking = tool({
      name: "ask",
      description: "x",
      input: z.object({}),
      permission: "ask",
      execute: () => "done",
    });
    const model = scriptedModel([{ calls: [{ name: "ask", input: {} }] }, { text: "Ok." }]);
    const guide = agent({ name: "guide", model, instructions: "x", tools: [asking], permission: { waitMs: 10_000 } });
    const begin = async (): Promise<{ readonly runtime: Runtime; readonly requestId: string }> => {
      const runtime = await world.open({ agents: [guide], permission: { mode: "ask" }, work: "all" });
      const run = await runtime.send("guide", "Go");
      const requestId = (await soon(run.result())).requests[0]?.requestId ?? "";
      await world.clock.advance(4_000);
      world.jump(step);
      await world.clock.advance(5_900);
      return { runtime, requestId };
    };
    const { runtime, requestId } = await begin();
    const session = await runtime.session("ses_1");
    await soon(session.respond(requestId, { type: "permission", allow: true }));
    await until(async () => (await session.state()).status === "idle", "the end");
    expect(ofType(await world.log(), "request.resolved")[0]).toMatchObject({ by: { id: "local" } });
    await world.close();
  });

  it("DUR-10 keeps a log whose times do not go back, and is forgotten with the hold", async () => {
    const world = new World();
    const runtime = await world.open(napper(10_000));
    const run = await runtime.send("guide", "Go");
    await until(async () => ofType(await world.log(), "step.finished").length === 1, "the sleep");
    const begun = world.clock.now();
    world.jump(-HOUR);
    await world.clock.advance(10_100);
    await soon(run.text());
    const times = (await world.log()).map(({ at }) => at);
    expect(times).toEqual(times.toSorted((left, right) => left - right));
    expect(times.at(-1)).toBeGreaterThan(begun);
    await world.clock.advance(LIMITS.parkAfterMs);
    await soon((await runtime.session<string>("ses_1")).send("Again").then((next) => next.result()));
    const again = ofType(await world.log(), "run.started")[1];
    expect(again?.at).toBe(world.clock.now());
    await world.close();
  });
});

describe("a wall clock that was set back between two holds", () => {
  it("LOOP-05 leaves a run the time that it had left", async () => {
    const world = new World();
    const stuck = tool({
      name: "stuck",
      description: "x",
      input: z.object({}),
      rerun: "safe",
      execute: () => new Promise<string>(() => undefined),
    });
    const model = scriptedModel([{ calls: [{ name: "stuck", input: {} }] }, { calls: [{ name: "stuck", input: {} }] }]);
    const guide = agent({ name: "guide", model, instructions: "x", tools: [stuck], limits: { wallMs: 10_000 } });
    const options = { agents: [guide], permission: { mode: "never-ask" }, work: "all" } as const;
    const first = await world.open(options);
    await first.send("guide", "Go");
    await until(async () => ofType(await world.log(), "tool.started").length === 1, "the call");
    await world.clock.advance(4_000);
    await world.kill();
    world.jump(-2 * HOUR);
    const second = await world.open(options);
    const run = await (await second.session<string>("ses_1")).run();
    await until(async () => ofType(await world.log(), "run.resumed").length === 1, "the second hold");
    await world.clock.advance(11_000);
    expect((await soon(run?.result() ?? Promise.reject(new Error("no run")))).reason).toBe("deadline");
    await world.close();
  });
});

describe("steady", () => {
  it("goes on with the monotonic clock from where the wall clock was", async () => {
    const fake = fakeClock();
    let skew = 0;
    const clock: Clock = {
      now: () => fake.now() + skew,
      monotonic: () => fake.monotonic() + 0.4,
      after: (...args) => fake.after(...args),
    };
    const begun = clock.now();
    const now = steady(clock);
    expect(now()).toBe(begun);
    skew = -HOUR;
    await fake.advance(5);
    expect(now()).toBe(begun + 5);
    expect(steady(clock)()).toBe(begun - HOUR + 5);
  });
});
