import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { systemClock } from "../words/clock.ts";
import type { Json } from "../words/json.ts";
import { memoryStore } from "../store-engine/memory-store.ts";
import { plugin } from "../ports/plugin.ts";
import { openRuntime } from "../session/runtime.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { fixedIds } from "../testing/fixed-ids.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { logOf, ofType, soon, until } from "../testing/waiting.ts";
import { tool } from "../ports/tool.ts";

const call = (name: string, input: Json = {}): ScriptedReply => ({ calls: [{ name, input }] });
const never = new Promise<void>(() => undefined);

describe("budgets when things go wrong", () => {
  it("EDGE-08 asks for more after a crash in a model call, and waits", async () => {
    const store = memoryStore();
    const ids = fixedIds();
    const price = { input: 2, output: 10, cacheWrite: 2.5 };
    const make = (hold?: Promise<void>) =>
      agent({
        name: "lead",
        model: scriptedModel([hold === undefined ? { text: "ok" } : { text: "ok", hold }], { price }),
        instructions: "L",
        limits: { usd: 0.05, ask: true },
      });
    const open = (a: ReturnType<typeof make>) =>
      openRuntime({
        agents: [a],
        engine: storeEngine(store, { clock: systemClock, ids }),
        permission: { mode: "ask" },
        work: "all",
        host: { clock: systemClock, ids },
      });
    const one = await open(make(never));
    const run = await one.send("lead", "Go");
    for await (const { event } of run.events()) if (event.type === "text.delta") break;
    await one.close({ graceMs: 0 });
    const two = await open(make());
    const result = await soon(
      (await (await two.session(run.session.id)).run())?.result() ?? Promise.reject(new Error("no run")),
    );
    expect(result).toMatchObject({ status: "waiting" });
    await two.close({ graceMs: 0 });
  });

  it("EDGE-08 asks for as much again as the send allowed", async () => {
    const act = tool({ name: "act", description: "Acts.", input: z.object({}), execute: () => "done" });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("act"), { text: "ok" }]),
      instructions: "L",
      tools: [act],
    });
    await using runtime = await testRuntime({ agents: [lead], permission: { mode: "ask" } });
    const run = await runtime.send(lead, "Go", { limits: { calls: 1, ask: true } });
    const { requests } = await run.result();
    expect(requests[0]?.body).toMatchObject({ budget: { calls: 1 } });
  });

  it("EDGE-08 reserves for what came since the last counted call", async () => {
    const big = "word ".repeat(20_000);
    const usage = { inputTokens: 100, outputTokens: 10 };
    const echo = plugin({
      name: "echo",
      input: (m, c, next) => (JSON.stringify(m.parts).includes("HOOK") ? c.answer("yes") : next(m)),
    });
    const model = scriptedModel([{ text: "one", usage }, { text: "n/a" }, { text: "three", usage }]);
    const lead = agent({ name: "lead", model, instructions: "L", plugins: [echo], limits: { tokens: 1_000_000 } });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go");
    await run.result();
    await (await run.session.send(`HOOK ${big}`)).result();
    const third = await run.session.send("x");
    await third.result();
    const log = await logOf(runtime.store, run.session.id);
    const last = ofType(log, "turn.started").at(-1);
    expect((last?.reserved?.tokens ?? 0) - 32_000).toBeGreaterThan(20_000);
  });

  it("EDGE-08 counts a try in full that was cut off", async () => {
    const price = { input: 2, output: 10, cacheWrite: 2.5 };
    const usage = { inputTokens: 1, outputTokens: 1, costMicroUsd: 10 };
    const model = scriptedModel([(_r, n) => (n < 3 ? { text: "half and half", cutAfter: 1 } : { text: "ok", usage })], {
      price,
    });
    const lead = agent({ name: "lead", model, instructions: "L", limits: { usd: 0.05 } });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go");
    let done = false;
    const ended = run.result().then(() => (done = true));
    await until(async () => {
      await runtime.clock.advance(10_000);
      return done;
    });
    await ended;
    const log = await logOf(runtime.store, run.session.id);
    const reserved = ofType(log, "turn.started").reduce((sum, fact) => sum + (fact.reserved?.microUsd ?? 0), 0);
    expect(reserved).toBeLessThanOrEqual(50_000);
  });

  it("EDGE-08 counts what a stopped child may have spent", async () => {
    const price = { input: 2, output: 10, cacheWrite: 2.5 };
    const inner = agent({
      name: "worker",
      model: scriptedModel([{ text: "42", hold: never }], { price }),
      instructions: "W",
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "x" }), { text: "ok" }], { price }),
      instructions: "L",
      tools: [inner],
      limits: { usd: 0.05 },
      settings: { maxOutputTokens: 1000 },
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go");
    for await (const { event, parent } of run.events({ children: true }))
      if (parent !== undefined && event.type === "text.delta") break;
    const [child] = await runtime.sessions({ parent: run.session.id });
    await (await runtime.session(child?.sessionId ?? "")).interrupt();
    await run.result();
    const log = await logOf(runtime.store, run.session.id);
    const [end] = ofType(log, "task.finished");
    const childLog = await logOf(runtime.store, child?.sessionId ?? "");
    const [asked] = ofType(childLog, "turn.started");
    expect(end?.lost?.microUsd).toBeGreaterThan(0);
    expect(end?.lost?.microUsd).toBe(asked?.reserved?.microUsd);
  });
});
