import { describe, expect, it } from "vitest";
import { withCost } from "./price.ts";

const price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

describe("withCost", () => {
  it("COST-06 prices every kind of token, in whole micro-dollars, never too low", () => {
    const usage = { inputTokens: 10, outputTokens: 2, cacheReadTokens: 101, cacheWriteTokens: 4 };
    expect(withCost(usage, price)).toEqual({ ...usage, costMicroUsd: 106 }); // 30 + 30 + 30.3 + 15 = 105.3
    expect(withCost({ inputTokens: 0, outputTokens: 1 }, { input: 0.1, output: 0.5 }).costMicroUsd).toBe(1);
    expect(withCost({ inputTokens: 30, outputTokens: 0 }, { input: 0.1, output: 0.5 }).costMicroUsd).toBe(3);
  });

  it("COST-06 takes the input's price for cached tokens when there is no other", () => {
    const usage = { inputTokens: 1, outputTokens: 0, cacheReadTokens: 1, cacheWriteTokens: 1 };
    expect(withCost(usage, { input: 2, output: 0 }).costMicroUsd).toBe(6);
  });

  it("COST-06 takes the price of long prompts for the whole request", () => {
    const tiered = { input: 1, output: 1, long: { overTokens: 10, input: 5, output: 5 } };
    const cost = (cacheReadTokens: number): number | undefined =>
      withCost({ inputTokens: 5, outputTokens: 1, cacheReadTokens }, tiered).costMicroUsd;
    expect([cost(5), cost(6)]).toEqual([11, 60]);
  });

  it("leaves the usage alone without a price", () => {
    expect(withCost({ inputTokens: 1, outputTokens: 1 }, undefined)).toEqual({ inputTokens: 1, outputTokens: 1 });
  });
});
