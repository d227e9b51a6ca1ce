/** What tokens cost, in integer millionths of a US dollar. */

import type { Usage } from "./message.ts";
import type { Price } from "./model.ts";

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

/** Whether every rate is a number that a sum can be made of. */
export function isPrice({ long, ...rates }: Price): boolean {
  return ratesAreNumbers(rates) && (long === undefined || (isRate(long.overTokens) && ratesAreNumbers(long)));
}

function ratesAreNumbers({ input, output, cacheRead = 0, cacheWrite = 0 }: Price): boolean {
  return [input, output, cacheRead, cacheWrite].every(isRate);
}

function isRate(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
