/** How an AI SDK stream ends: finish reasons and usage of all three versions in Capstan's words. */

import type { Json, TurnReason, Usage } from "@capstan/core";
import { countOf, memberOf } from "../provider/json.ts";

const REASONS: Readonly<Record<string, TurnReason>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content-filter",
  "tool-calls": "tool-calls",
  error: "error",
};
/** Words of providers that say more than the unified reason beside them. */
const RAW_REASONS: Readonly<Record<string, TurnReason>> = {
  refusal: "refusal",
  pause_turn: "paused",
  compaction: "paused",
  CONTINUATION: "paused",
  model_context_window_exceeded: "context-exceeded",
  PROHIBITED_CONTENT: "refusal",
  SPII: "refusal",
  BLOCKLIST: "refusal",
};

export type Ending = {
  /** Undefined: the provider's own stream broke off (V4 `interrupted`). */
  readonly reason: TurnReason | undefined;
  readonly rawReason?: string;
};

/** V2 gives a word, V3 and V4 `{ unified, raw }`. `called`: the answer holds calls for us, whatever the word says. */
export function endingOf(finishReason: Json | undefined, called: boolean): Ending {
  const unified = typeof finishReason === "string" ? finishReason : memberOf(finishReason, "unified");
  const raw = memberOf(finishReason, "raw");
  const rawReason = typeof raw === "string" ? raw : typeof unified === "string" ? unified : undefined;
  const named = rawReason === undefined ? {} : { rawReason };
  if (unified === "interrupted") return { ...named, reason: undefined };
  const known = lookUp(RAW_REASONS, rawReason) ?? lookUp(REASONS, unified) ?? "other";
  // servers of open models say "stop" after calls too
  return { ...named, reason: called && (known === "stop" || known === "other") ? "tool-calls" : known };
}

function lookUp(table: Readonly<Record<string, TurnReason>>, word: Json | undefined): TurnReason | undefined {
  return typeof word === "string" && Object.hasOwn(table, word) ? table[word] : undefined;
}

/** Of these providers, V2 counts the input without what came from a cache. */
const UNCACHED_V2 = /anthropic|bedrock/i;

/** V2 gives plain counts; V3 and V4 `{ inputTokens: { total, noCache, ... }, outputTokens: { total, reasoning } }`. */
export function usageOf(usage: Json | undefined, provider: string): Usage {
  const input = memberOf(usage, "inputTokens");
  if (typeof input === "object" && input !== null) return structured(input, memberOf(usage, "outputTokens"));
  const cached = round(memberOf(usage, "cachedInputTokens"));
  const total = round(input);
  return {
    inputTokens: UNCACHED_V2.test(provider) || cached > total ? total : total - cached,
    outputTokens: round(memberOf(usage, "outputTokens")),
    ...given("cacheReadTokens", memberOf(usage, "cachedInputTokens")),
    ...given("reasoningTokens", memberOf(usage, "reasoningTokens")),
  };
}

function structured(input: Json, output: Json | undefined): Usage {
  const [read, written] = [memberOf(input, "cacheRead"), memberOf(input, "cacheWrite")];
  const fresh = memberOf(input, "noCache");
  const inputTokens =
    typeof fresh === "number"
      ? round(fresh)
      : Math.max(0, round(memberOf(input, "total")) - round(read) - round(written));
  const parts = round(memberOf(output, "text")) + round(memberOf(output, "reasoning"));
  return {
    inputTokens,
    outputTokens: round(memberOf(output, "total")) || parts,
    ...given("cacheReadTokens", read),
    ...given("cacheWriteTokens", written),
    ...given("reasoningTokens", memberOf(output, "reasoning")),
  };
}

function given<Name extends keyof Usage>(name: Name, value: Json | undefined): { readonly [N in Name]?: number } {
  return (typeof value === "number" && Number.isFinite(value) ? { [name]: round(value) } : {}) as {
    readonly [N in Name]?: number; // the computed name is Name
  };
}

function round(value: Json | undefined): number {
  return Math.round(countOf(value));
}
