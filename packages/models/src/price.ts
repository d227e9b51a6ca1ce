/** What tokens cost, in integer millionths of a US dollar. */

import type { Price, Usage } from "@capstan/core";

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
