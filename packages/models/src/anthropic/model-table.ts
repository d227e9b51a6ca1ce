/**
 * What is known about Claude models: platform.claude.com models and pricing pages, read 2026-11-21. Prices were compared
 * with `@pydantic/genai-prices` 0.1.8; it does not yet have the cache read of Sonnet 5.5 (halved on 2026-10-07) and Haiku 5.5.
 */

import type { Price } from "@capstan/core";

/**
 * `budget`: thinks only with a token budget. `either`: budget or adaptive, off by default. `adaptive`: adaptive, off by
 * default. `default`: adaptive unless disabled. `between-tools`: adaptive, at least notes between tools. `always`: adaptive.
 */
export type Thinking = "budget" | "either" | "adaptive" | "default" | "between-tools" | "always";

export type ModelFacts = {
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  readonly thinking: Thinking;
  readonly structured: boolean;
  readonly price?: Price;
};

/** The model of `anthropic()` when neither the caller nor `ANTHROPIC_MODEL` names one. */
export const DEFAULT_MODEL = "claude-sonnet-5-5";

const MILLION = 1_000_000;

/** Rows by id prefix, the more specific first. */
const ROWS: readonly (readonly [prefix: string, facts: ModelFacts])[] = [
  ["claude-fable-5-1", newest("always", price(10, 50, 0.25))],
  ["claude-mythos-5-1", newest("always", price(10, 50, 0.25))],
  ["claude-fable-5", newest("always", price(10, 50, 1))],
  ["claude-mythos-5", newest("always", price(10, 50, 1))],
  ["claude-opus-5-5", newest("always", price(4, 20, 0.2))],
  ["claude-sonnet-5-5", newest("between-tools", price(2, 10, 0.1))],
  [
    "claude-haiku-5-5",
    newest("default", { ...price(0.1, 0.5, 0.01), long: { overTokens: 100_000, ...price(0.5, 2.5, 0.05) } }),
  ],
  ["claude-opus-5", newest("default", price(5, 25, 0.5))],
  ["claude-sonnet-5", newest("default", price(2, 10, 0.2))],
  ["claude-opus-4-8", newest("adaptive", price(5, 25, 0.5))],
  ["claude-opus-4-7", newest("adaptive", price(5, 25, 0.5))],
  ["claude-opus-4-6", newest("either", price(5, 25, 0.5))],
  ["claude-sonnet-4-6", { ...newest("either", price(3, 15, 0.3)), maxOutputTokens: 64_000 }],
  ["claude-opus-4-5", older(64_000, true, price(5, 25, 0.5))],
  ["claude-sonnet-4-5", older(64_000, true, price(3, 15, 0.3))],
  ["claude-haiku-4-5", older(64_000, true, price(1, 5, 0.1))],
  ["claude-opus-4", older(32_000, false, price(15, 75, 1.5))],
  ["claude-sonnet-4", older(64_000, false, price(3, 15, 0.3))],
  ["claude-3", older(4_096, false)],
];

/** A model that is not in the table: the smallest limits that a current one has, and no price. */
const UNKNOWN: ModelFacts = { contextTokens: 200_000, maxOutputTokens: 32_000, thinking: "adaptive", structured: true };

/** Facts of a model by its id; names of clouds and gateways in front of `claude-` are skipped. */
export function modelFacts(modelId: string): ModelFacts {
  const start = modelId.indexOf("claude-");
  const id = start === -1 ? modelId : modelId.slice(start);
  return ROWS.find(([prefix]) => id.startsWith(prefix))?.[1] ?? UNKNOWN;
}

function newest(thinking: Thinking, modelPrice: Price): ModelFacts {
  return { contextTokens: MILLION, maxOutputTokens: 128_000, thinking, structured: true, price: modelPrice };
}

function older(maxOutputTokens: number, structured: boolean, modelPrice?: Price): ModelFacts {
  const facts = { contextTokens: 200_000, maxOutputTokens, thinking: "budget", structured } as const;
  return modelPrice === undefined ? facts : { ...facts, price: modelPrice };
}

/** Writing to the cache for five minutes costs 1.25 times the input on every model. */
function price(input: number, output: number, cacheRead: number): Price {
  return { input, output, cacheRead, cacheWrite: input * 1.25 };
}
