import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "./agent.ts";
import { isLive, type FactOf } from "./event.ts";
import type { ModelRequest } from "./model.ts";
import type { Runtime } from "./runtime.ts";
import { crashSweep } from "./testing/crash-sweep.ts";
import { scriptedModel, type ScriptedReply } from "./testing/scripted-model.ts";
import { testRuntime } from "./testing/test-runtime.ts";
import { flowTool, tool } from "./tool.ts";

const PRICE = { input: 2, output: 10, cacheWrite: 2.5 };

/** The most that a provider could charge for this request, by its own count: every word of the prompt and all it may say. */
function dearest(request: ModelRequest): number {
  const prompt = JSON.stringify([request.system, request.tools, request.messages]).length / 4;
  return Math.ceil(prompt * PRICE.cacheWrite + (request.settings.maxOutputTokens ?? 1_000_000) * PRICE.output);
}

/** A small generator, so that a failing trial can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

async function turnsOf(runtime: Runtime): Promise<readonly FactOf<"turn.finished">[]> {
  const found: FactOf<"turn.finished">[] = [];
  for (const { sessionId } of await runtime.sessions()) {
    const session = await runtime.session(sessionId);
    const { head } = await session.state();
    for await (const { event } of session.events()) {
      if (!isLive(event) && event.type === "turn.finished") found.push(event);
      if (event.seq >= head) break;
    }
  }
  return found;
}

async function trial(
  seed: number,
): Promise<{ readonly spent: number; readonly children: number; readonly reason: string }> {
  const next = random(seed);
  const charged = (more: object) => (request: ModelRequest) => ({
    ...more,
    usage: { inputTokens: 10, outputTokens: 10, costMicroUsd: Math.floor(dearest(request) * next()) },
  });
  const work = tool({
    name: "work",
    description: "Works.",
    input: z.object({}),
    rerun: "safe",
    execute: () => "on it",
  });
  const replies: ScriptedReply[] = Array.from({ length: 1 + Math.floor(next() * 3) }, () =>
    charged({ calls: [{ name: "work", input: {} }] }),
  );
  const worker = agent({
    name: "worker",
    model: scriptedModel([...replies, charged({ text: "done" })], { price: PRICE }),
    instructions: "Work.",
    tools: [work],
    settings: { maxOutputTokens: 4_000 },
  });
  const all = flowTool({
    name: "all",
    description: "Everyone.",
    input: z.object({}),
    async flow(_input, context) {
      const names = Array.from({ length: 50 }, (_, index) => `w${index}`);
      const ends = await Promise.all(names.map((name) => context.spawn(name, "worker", "go")));
      return ends.filter(({ status }) => status === "completed").length;
    },
  });
  const lead = agent({
    name: "lead",
    model: scriptedModel([charged({ calls: [{ name: "all", input: {} }] }), charged({ text: "ok" })], { price: PRICE }),
    instructions: "Lead.",
    tools: [all],
    limits: { usd: 1 },
    settings: { maxOutputTokens: 4_000 },
  });
  await using runtime = await testRuntime({ agents: [lead, worker] });
  const result = await (await runtime.send(lead, "Go")).result();
  const turns = await turnsOf(runtime);
  const spent = turns.reduce((sum, { usage }) => sum + (usage.costMicroUsd ?? 0), 0);
  return { spent, children: (await runtime.sessions()).length - 1, reason: result.reason ?? "" };
}

describe("budgets by reservation", () => {
  const trials = Number(process.env["CAPSTAN_BUDGET_TRIALS"] ?? 12);
  it(`EDGE-08 TOOL-47 COST-08 fifty sub-agents beside each other never spend more than their dollar, in ${trials} trials`, async () => {
    let some = 0;
    for (let seed = 1; seed <= trials; seed++) {
      const { spent, children, reason } = await trial(seed);
      expect(spent, `trial ${seed}`).toBeLessThanOrEqual(1_000_000);
      expect(children).toBe(50);
      expect(["end-turn", "budget"]).toContain(reason);
      some += spent;
    }
    expect(some / trials).toBeGreaterThan(100_000); // the budget is there to be used
  }, 600_000);

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
