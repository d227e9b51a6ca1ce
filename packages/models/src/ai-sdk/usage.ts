/** How an AI SDK stream ends: finish reasons and usage of all three versions in Capstan's words. */

import type { Json, TurnReason, Usage } from "@capstan/core";
import { countOf, isCount, lookUp, memberOf } from "../provider/json.ts";

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

/** Of these providers, V2 counts the input without what came from a cache. */
const UNCACHED_V2 = /anthropic|bedrock/i;

/** V2 gives plain counts; V3 and V4 `{ inputTokens: { total, noCache, ... }, outputTokens: { total, reasoning } }`. */
export function usageOf(usage: Json | undefined, provider: string): Usage {
  const input = memberOf(usage, "inputTokens");
  if (typeof input === "object" && input !== null) return structured(input, memberOf(usage, "outputTokens"));
  const cached = countOf(memberOf(usage, "cachedInputTokens"));
  const total = countOf(input);
  return {
    inputTokens: UNCACHED_V2.test(provider) || cached > total ? total : total - cached,
    outputTokens: countOf(memberOf(usage, "outputTokens")),
    ...given("cacheReadTokens", memberOf(usage, "cachedInputTokens")),
    ...given("reasoningTokens", memberOf(usage, "reasoningTokens")),
  };
}

function structured(input: Json, output: Json | undefined): Usage {
  const [read, written] = [memberOf(input, "cacheRead"), memberOf(input, "cacheWrite")];
  const fresh = memberOf(input, "noCache");
  const inputTokens =
    typeof fresh === "number"
      ? countOf(fresh)
      : Math.max(0, countOf(memberOf(input, "total")) - countOf(read) - countOf(written));
  const parts = countOf(memberOf(output, "text")) + countOf(memberOf(output, "reasoning"));
  return {
    inputTokens,
    outputTokens: countOf(memberOf(output, "total")) || parts,
    ...given("cacheReadTokens", read),
    ...given("cacheWriteTokens", written),
    ...given("reasoningTokens", memberOf(output, "reasoning")),
  };
}

function given<Name extends keyof Usage>(name: Name, value: Json | undefined): { readonly [N in Name]?: number } {
  return (isCount(value) ? { [name]: countOf(value) } : {}) as { readonly [N in Name]?: number }; // the name is Name
}
