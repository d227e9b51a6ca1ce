import { describe, expect, it } from "vitest";
import { agent } from "../ports/agent.ts";
import type { Plugin } from "../ports/plugin.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";

const PRICE = { input: 2, output: 10, cacheWrite: 2.5 };
const usage = { inputTokens: 1_000, outputTokens: 100, costMicroUsd: 3_000 };

async function runWith(model: Plugin["model"] & object, limits: object, settings = { maxOutputTokens: 1_000 }) {
  const answers = scriptedModel([{ text: "ok", usage }], { price: PRICE });
  const lead = agent({
    name: "lead",
    model: answers,
    instructions: "Lead.",
    limits,
    settings,
    plugins: [{ name: "dear", model }],
  });
  await using runtime = await testRuntime({ agents: [lead] });
  const run = await runtime.send(lead, "Go");
  const result = await run.result();
  const reserved: number[] = [];
  for await (const { event } of run.events())
    if (event.type === "turn.started") reserved.push(event.reserved?.tokens ?? 0);
  return { result, reserved, requests: answers.requests };
}

describe("model hooks under a budget", () => {
  for (const limits of [{ tokens: 5_000 }, { usd: 0.02 }]) {
    it(`EDGE-08 cannot raise the length of the answer, under ${JSON.stringify(limits)}`, async () => {
      const { result, requests } = await runWith(
        (request, _context, next) => next({ ...request, settings: { ...request.settings, maxOutputTokens: 1e6 } }),
        limits,
      );
      expect(result.reason).toBe("end-turn");
      expect(requests.map(({ settings }) => settings.maxOutputTokens)).toEqual([1_000]);
    });
  }

  it("EDGE-08 leave less for the answer when they send more, and end the run when that is nothing", async () => {
    const adding =
      (characters: number): Plugin["model"] & object =>
      (request, _context, next) => {
        const added = { id: "added", role: "user", parts: [{ type: "text", text: "x".repeat(characters) }] } as const;
        return next({ ...request, messages: [...request.messages, added] });
      };
    const little = await runWith(adding(1_000), { tokens: 5_000 });
    expect(little.result.reason).toBe("end-turn");
    const [most = 0] = little.requests.map(({ settings }) => settings.maxOutputTokens);
    expect(most).toBeGreaterThan(400);
    expect(most).toBeLessThan(500);
    const much = await runWith(adding(1_000_000), { tokens: 5_000 });
    expect(much.result).toMatchObject({ reason: "error", error: { code: "limit-reached" } });
    expect(much.requests).toEqual([]);
  });

  it("EDGE-08 pay every call from what was set aside for one, and all count", async () => {
    const twice: Plugin["model"] & object = async function* (request, _context, next) {
      for await (const _batch of next(request));
      yield* next(request);
    };
    const { result, requests, reserved } = await runWith(twice, { tokens: 10_000 }, { maxOutputTokens: 2_000 });
    expect(result.reason).toBe("end-turn");
    const [first = 0, second = 0] = requests.map(({ settings }) => settings.maxOutputTokens ?? 0);
    expect(first).toBe(2_000);
    expect(second).toBe((reserved[0] ?? 0) - 1_100 - ((reserved[0] ?? 0) - 2_000));
    expect(result.usage).toMatchObject({ inputTokens: 2_000, outputTokens: 200 });
  });
});
