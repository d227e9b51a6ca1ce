import { expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import type { Usage } from "../words/message.ts";
import type { Price } from "../ports/model.ts";
import { plugin, type Plugin } from "../ports/plugin.ts";
import { isPrice, withCost } from "./price.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { tool } from "../ports/tool.ts";

const price: Price = { input: 1, output: 1, cacheRead: 0.1 };
const again = tool({ name: "again", description: "Again.", input: z.object({}), execute: () => "once more" });

/** A model that calls for more in every turn, and says that each call used this. */
async function spending(used: Usage, limits: { microUsd?: number; tokens?: number }, plugins: readonly Plugin[] = []) {
  const model = scriptedModel(
    Array.from({ length: 30 }, () => ({ calls: [{ name: "again", input: {} }], usage: used })),
    { price },
  );
  const settings = { maxOutputTokens: 1_000 };
  const guide = agent({ name: "guide", model, instructions: "x", tools: [again], limits, settings, plugins });
  await using runtime = await testRuntime({ agents: [guide] });
  return await (await runtime.send(guide, "Go")).result();
}

it("EDGE-08 a model that says no cost is charged by its price, what it read from a cache too", async () => {
  const { reason, usage, turns } = await spending(
    { inputTokens: 50_000, outputTokens: 1_000, cacheReadTokens: 10_000 },
    { microUsd: 150_000 },
  );
  expect([reason, turns, usage.costMicroUsd]).toEqual(["budget", 2, 104_000]);
});

it("EDGE-08 a second call by a hook is charged by the price as well", async () => {
  const twice = plugin({
    name: "twice",
    async *model(request, _context, next) {
      for await (const _batch of next(request)) yield [];
      yield* next(request);
    },
  });
  const { usage } = await spending({ inputTokens: 100, outputTokens: 10 }, { microUsd: 3_000 }, [twice]);
  expect(usage.costMicroUsd).toBe(usage.inputTokens + usage.outputTokens);
});

it("EDGE-08 no usage that a model claims gives a budget back", async () => {
  const hooked = plugin({
    name: "twice",
    async *model(request, _context, next) {
      for await (const _batch of next(request)) yield [];
      yield* next(request);
    },
  });
  for (const plugins of [[], [hooked]]) {
    const used = { inputTokens: -1_000_000, outputTokens: 500, costMicroUsd: -5 };
    const { reason, usage } = await spending(used, { tokens: 6_000 }, plugins);
    expect([reason, usage.inputTokens, usage.outputTokens >= 1_000]).toEqual(["budget", 0, true]);
  }
});

it("EDGE-08 a usage without end stays a number in every sum", async () => {
  const { usage, treeUsage } = await spending({ inputTokens: 1, outputTokens: Number.MAX_VALUE }, { tokens: 90_000 });
  expect([usage.outputTokens, treeUsage.outputTokens]).toEqual([Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]);
});

it.each<[string, unknown]>([
  ["less than nothing", { input: -1, output: 1 }],
  ["no number", { input: 1, output: Number.NaN }],
  ["without end", { input: 1, output: Number.POSITIVE_INFINITY }],
  ["a text", { input: "1", output: 1 }],
  ["not there", { input: 1 }],
  ["no number for what is written to a cache", { input: 1, output: 1, cacheWrite: Number.NaN }],
  ["no number for long prompts", { input: 1, output: 1, long: { overTokens: 10, input: Number.NaN, output: 1 } }],
])("EDGE-08 a price that is %s is none: a limit of money could not be kept", async (_what, wrong) => {
  const model = scriptedModel([{ text: "Hi." }], { price: wrong as Price });
  const guide = agent({ name: "guide", model, instructions: "x", limits: { microUsd: 1_000_000 } });
  await using runtime = await testRuntime({ agents: [guide] });
  const { reason, error } = await (await runtime.send(guide, "Go")).result();
  expect([reason, error?.code, model.requests.length]).toEqual(["error", "price-unknown", 0]);
});

it("EDGE-08 what costs nothing has a price", () => {
  expect(isPrice({ input: 0, output: 0 })).toBe(true);
  expect(withCost({ inputTokens: 5, outputTokens: 5 }, { input: 0, output: 0 }).costMicroUsd).toBe(0);
});
