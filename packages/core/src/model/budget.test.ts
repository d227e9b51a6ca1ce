import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { crashSweep } from "../testing/crash-sweep.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { tool } from "../ports/tool.ts";

const PRICE = { input: 2, output: 10, cacheWrite: 2.5 };

describe("budgets by reservation", () => {
  it("EDGE-08 sets aside in the log, on disk, what a call may cost, and cuts the answer to what can be paid", async () => {
    const model = scriptedModel([{ text: "ok" }], { price: PRICE });
    const lead = agent({ name: "lead", model, instructions: "Lead.", limits: { usd: 0.05 } });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go");
    expect((await run.result()).reason).toBe("end-turn");
    const most = model.requests[0]?.settings.maxOutputTokens ?? 0;
    expect(most).toBeGreaterThan(4_000);
    expect(most).toBeLessThan(5_000);
    for await (const { event } of run.events()) {
      if (event.type !== "turn.started") continue;
      expect(event.reserved?.microUsd).toBeLessThanOrEqual(50_000);
      expect(event.reserved?.microUsd).toBeGreaterThan(49_000);
    }
  });

  it("EDGE-08 ends with budget before a call that cannot be paid", async () => {
    const model = scriptedModel([{ text: "ok" }], { price: PRICE });
    const lead = agent({ name: "lead", model, instructions: "Lead.", limits: { microUsd: 100 } });
    await using runtime = await testRuntime({ agents: [lead] });
    expect(await (await runtime.send(lead, "Go")).result()).toMatchObject({ reason: "budget", turns: 0 });
    expect(model.requests).toHaveLength(0);
  });

  it("EDGE-08 denies the calls of a turn that are beyond the budget of calls", async () => {
    let done = 0;
    const act = tool({ name: "act", description: "Acts.", input: z.object({}), execute: () => void done++ });
    const calls = Array.from({ length: 5 }, () => ({ name: "act", input: {} }));
    const model = scriptedModel([{ calls }, { text: "ok" }]);
    const lead = agent({ name: "lead", model, instructions: "Lead.", tools: [act], limits: { calls: 3 } });
    await using runtime = await testRuntime({ agents: [lead] });
    expect(await (await runtime.send(lead, "Go")).result()).toMatchObject({ reason: "budget", turns: 1 });
    expect(done).toBe(3);
  });

  it("EDGE-08 charges a call that a crash left open in full", async () => {
    const usage = { inputTokens: 1, outputTokens: 1, costMicroUsd: 10 };
    const model = scriptedModel([{ text: "ok", usage }], { price: PRICE });
    const lead = agent({
      name: "lead",
      model,
      instructions: "Lead.",
      limits: { usd: 1 },
      settings: { maxOutputTokens: 1_000 },
    });
    await crashSweep({
      agents: [lead],
      journey: async (runtime) => (await runtime.send(lead, "Go", { idempotencyKey: "one" })).text(),
    });
    const costs = new Set(model.requests.map(({ settings }) => settings.maxOutputTokens));
    expect([...costs]).toEqual([1_000]); // what was lost leaves enough here, and never more than is there
  });

  for (const [answer, reason, turns] of [
    ["Go on", "end-turn", 2],
    ["Stop", "budget", 1],
  ] as const) {
    it(`EDGE-08 asks a person when it is told to, and takes "${answer}" for an answer`, async () => {
      const act = tool({ name: "act", description: "Acts.", input: z.object({}), execute: () => "done" });
      const model = scriptedModel([{ calls: [{ name: "act", input: {} }] }, { text: "ok" }]);
      const limits = { calls: 1, ask: true };
      const lead = agent({ name: "lead", model, instructions: "Lead.", tools: [act], limits });
      await using runtime = await testRuntime({ agents: [lead], permission: { mode: "ask" } });
      const run = await runtime.send(lead, "Go");
      const { status, requests } = await run.result();
      expect(status).toBe("waiting");
      expect(requests[0]?.body).toMatchObject({ type: "question", budget: { calls: 1 } });
      const requestId = requests[0]?.requestId ?? "";
      await run.session.respond(requestId, { type: "question", answers: { Budget: answer } });
      expect(await run.result()).toMatchObject({ status: "finished", reason, turns });
    });
  }
});
