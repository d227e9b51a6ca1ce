/** What tokens cost, in integer millionths of a US dollar. */

import type { Price } from "../ports/model.ts";
import type { Limits } from "../words/event.ts";
import type { Usage } from "../words/message.ts";

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

/** Micro-dollars a token, at most. */
export type Rates = { readonly input: number; readonly output: number };

/** For a prompt of so many tokens: it may all be written to a cache, and a long one may cost more. */
export function ratesOf(price: Price, prompt: number): Rates {
  const { long } = price;
  const rate = long !== undefined && prompt > long.overTokens ? { ...price, ...long } : price;
  return { input: Math.max(rate.input, rate.cacheWrite ?? 0), output: Math.max(rate.output, Number.EPSILON) };
}

/** Tokens of an answer that can be paid, and what it costs at most with its prompt. */
export type Payable = { readonly output: number; readonly tokens: number; readonly microUsd?: number };

/** The longest answer, of at most `asked` tokens, that can be paid of what is left; what is not limited is left out. */
export function payable(asked: number, prompt: number, left: Limits, rates: Rates | undefined): Payable {
  const byTokens = left.tokens === undefined ? asked : left.tokens - prompt;
  const byMoney =
    rates === undefined || left.microUsd === undefined
      ? asked
      : Math.floor((left.microUsd - prompt * rates.input) / rates.output);
  const output = Math.min(asked, byTokens, byMoney);
  const microUsd = rates === undefined ? {} : { microUsd: prompt * rates.input + output * rates.output };
  return { output, tokens: prompt + output, ...microUsd };
}
