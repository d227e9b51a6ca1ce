/** One trial of a budget: fifty sub-agents beside each other, each call charged at random up to the dearest it could be. */

import { agent, type FactOf, flowTool, isLive, type ModelRequest, type Runtime, tool } from "@capstan/core";
import { scriptedModel, type ScriptedReply, testRuntime } from "@capstan/core/testing";
import { z } from "zod";

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

export async function budgetTrial(
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
