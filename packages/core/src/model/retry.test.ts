import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../words/limits.ts";
import { retryDelay } from "./retry.ts";

const problem = (retryable: boolean) => ({ code: "model-cut", message: "x", retryable });

describe("retryDelay", () => {
  it("MODEL-12 doubles from half a second, and tries five times", () => {
    expect([1, 2, 3, 4, 5].map((attempt) => retryDelay(attempt, problem(true), undefined, 0))).toEqual([
      500,
      1_000,
      2_000,
      4_000,
      undefined,
    ]);
  });

  it("does not repeat what will fail again", () => {
    expect(retryDelay(1, problem(false), 0, 0)).toBeUndefined();
  });

  it("MODEL-12 honours what the provider asks for in full, or not at all", () => {
    expect(retryDelay(1, problem(true), 30_000, 0)).toBe(30_000);
    expect(retryDelay(1, problem(true), 0, 0)).toBe(0);
    expect(retryDelay(1, problem(true), LIMITS.modelRetryBudgetMs, 0)).toBe(LIMITS.modelRetryBudgetMs);
    expect(retryDelay(1, problem(true), LIMITS.modelRetryBudgetMs, 1)).toBeUndefined();
  });

  it("never waits longer than the budget, all in all", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(200_000), { nil: undefined }), { maxLength: 8 }), (asked) => {
        let spent = 0;
        for (const [index, retryAfterMs] of asked.entries()) {
          const delay = retryDelay(index + 1, problem(true), retryAfterMs, spent);
          if (delay === undefined) return;
          expect(index + 1).toBeLessThan(LIMITS.modelAttempts);
          if (retryAfterMs === undefined) expect(delay).toBeLessThanOrEqual(LIMITS.modelRetryMaxMs);
          else expect(delay).toBe(retryAfterMs);
          spent += delay;
        }
        expect(spent).toBeLessThanOrEqual(LIMITS.modelRetryBudgetMs);
      }),
    );
  });
});
