/** Published prices of models: `@pydantic/genai-prices`, when it is installed, loaded only when a price is first asked for. */

import type * as prices from "@pydantic/genai-prices";
import { type Price, systemClock } from "@capstan/core";
import { lookUp } from "./json.ts";

/** How the price list names our providers. A provider that is not here has no published prices: servers of one's own. */
const LISTED: Readonly<Record<string, string>> = {
  anthropic: "anthropic",
  cerebras: "cerebras",
  deepseek: "deepseek",
  gemini: "google",
  groq: "groq",
  openai: "openai",
  openrouter: "openrouter",
};

type List = Pick<typeof prices, "calcPrice">;
type ListedPrices = { readonly [key: string]: Listed | undefined };
/** Dollars per million tokens, or steps of it by the length of the prompt. */
type Listed = number | { readonly base: number; readonly tiers: readonly { start: number; price: number }[] };

/** The published price of a model, when it is known. `provider` is the id before the slash of `Model.id`. */
export async function priceOf(provider: string, modelId: string): Promise<Price | undefined> {
  return listedPrice(await priceList(), provider, modelId);
}

let list: Promise<List | undefined> | undefined;

function priceList(): Promise<List | undefined> {
  return (list ??= import("@pydantic/genai-prices").catch(() => undefined)); // not installed: no price is known
}

/** The price now: some depend on the day or the hour. */
function listedPrice(known: List | undefined, provider: string, modelId: string): Price | undefined {
  const providerId = lookUp(LISTED, provider);
  if (known === undefined || providerId === undefined) return undefined;
  try {
    const found = known.calcPrice({}, modelId, { providerId, timestamp: new Date(systemClock.now()) });
    return found === null || !isSameModel(found.model.id, modelId) ? undefined : toPrice(found.model_price);
  } catch {
    return undefined; // a price that the list itself cannot work out is none
  }
}

/** What may follow a model's name without naming another model: a date, a revision, a channel. */
const REVISION = /^([-@:](preview|latest|exp|free|\d{2,4}|\d{8}))*$/;

/** The list takes names by their beginning: `x-flash-lite` would cost as `x-flash`, `x-5-5` as `x-5`. */
function isSameModel(listed: string, asked: string): boolean {
  const id = asked.toLowerCase();
  return !id.startsWith(listed) || REVISION.test(id.slice(listed.length));
}

/** Undefined without a price of both input and output. */
export function toPrice(prices: ListedPrices): Price | undefined {
  const base = ratesOf(prices, (listed) => (typeof listed === "number" ? listed : listed?.base));
  const overTokens = firstStep(prices);
  if (base === undefined || overTokens === undefined) return base;
  const long = ratesOf(prices, (listed) =>
    typeof listed === "object"
      ? (listed.tiers.findLast(({ start }) => start <= overTokens)?.price ?? listed.base)
      : listed,
  );
  return long === undefined ? base : { ...base, long: { ...long, overTokens } };
}

type Rates = Omit<Price, "long">;

function ratesOf(prices: ListedPrices, rate: (listed: Listed | undefined) => number | undefined): Rates | undefined {
  const input = rate(prices["input_mtok"]);
  const output = rate(prices["output_mtok"]);
  if (input === undefined || output === undefined) return undefined;
  const cacheRead = rate(prices["cache_read_mtok"]);
  const cacheWrite = rate(prices["cache_write_mtok"]);
  return {
    input,
    output,
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheWrite !== undefined && { cacheWrite }),
  };
}

/** Length of the prompt from which another price counts. No listed model has more than one such length. */
function firstStep(prices: ListedPrices): number | undefined {
  const members = ["input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok"].map((name) => prices[name]);
  const starts = members.flatMap((listed) =>
    typeof listed === "object" ? listed.tiers.map(({ start }) => start) : [],
  );
  return starts.length === 0 ? undefined : Math.min(...starts);
}
