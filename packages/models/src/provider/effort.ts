/** How hard a model is to think, for providers that take levels where others take budgets of tokens. */

export type Effort = "low" | "medium" | "high";

/** Tokens that stand for each effort. */
export const BUDGETS = { low: 2_048, medium: 8_192, high: 24_576 } as const;

/** The effort whose budget is nearest. */
export function effortOf(budgetTokens: number): Effort {
  if (budgetTokens < (BUDGETS.low + BUDGETS.medium) / 2) return "low";
  return budgetTokens < (BUDGETS.medium + BUDGETS.high) / 2 ? "medium" : "high";
}

/** What of a limit on all output thinking may take: a quarter is left for the answer. */
export function thinkingWithin(maxOutputTokens: number): number {
  return Math.floor(maxOutputTokens * 0.75);
}
