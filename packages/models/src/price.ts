/** What tokens cost, in integer millionths of a US dollar. */

import type { Usage } from "@capstan/core";

/** US dollars per million tokens, which is micro-dollars per token. */
export type Price = {
  readonly input: number;
  readonly output: number;
  /** Tokens read from a prompt cache. Default: as `input`. */
  readonly cacheRead?: number;
  /** Tokens written to a prompt cache. Default: as `input`. */
  readonly cacheWrite?: number;
  /** Prices of a whole request whose prompt is longer than `overTokens`. */
  readonly long?: Omit<Price, "long"> & { readonly overTokens: number };
};

/** The usage with `costMicroUsd`, rounded up so that a budget is never undercounted. */
export function withCost(usage: Usage, price: Price | undefined): Usage {
  if (price === undefined) return usage;
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const promptTokens = inputTokens + cacheReadTokens + cacheWriteTokens;
  const rate = price.long !== undefined && promptTokens > price.long.overTokens ? price.long : price;
  const cost =
    inputTokens * rate.input +
    cacheReadTokens * (rate.cacheRead ?? rate.input) +
    cacheWriteTokens * (rate.cacheWrite ?? rate.input) +
    outputTokens * rate.output;
  return { ...usage, costMicroUsd: Math.ceil(Number(cost.toFixed(6))) };
}
