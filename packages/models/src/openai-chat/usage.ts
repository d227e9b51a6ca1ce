/** The usage of a chat completion (protocols.md sections 2.2 and 2.3) as usage of ours. Pure. */

import type { Json, Usage } from "@capstan/core";
import { countOf, isCount, memberOf } from "../provider/json.ts";

/** `costInUsage`: the server says what the call cost, in US dollars. */
export function toUsage(usage: Json | undefined, costInUsage: boolean): Usage {
  const prompt = memberOf(usage, "prompt_tokens_details");
  const read = memberOf(prompt, "cached_tokens") ?? memberOf(usage, "prompt_cache_hit_tokens");
  const written = memberOf(prompt, "cache_write_tokens");
  const reasoning = memberOf(memberOf(usage, "completion_tokens_details"), "reasoning_tokens");
  const cost = costInUsage ? costOf(usage) : undefined;
  const cached = countOf(read) + countOf(written);
  return {
    inputTokens: Math.max(0, countOf(memberOf(usage, "prompt_tokens")) - cached),
    outputTokens: countOf(memberOf(usage, "completion_tokens")),
    ...(isCount(read) && { cacheReadTokens: countOf(read) }),
    ...(isCount(written) && { cacheWriteTokens: countOf(written) }),
    ...(isCount(reasoning) && { reasoningTokens: countOf(reasoning) }),
    ...(cost !== undefined && { costMicroUsd: cost }),
  };
}

/** Rounded up, as everywhere. With a key of the caller's own at the upstream provider, `cost` is the fee alone. */
function costOf(usage: Json | undefined): number | undefined {
  const cost = memberOf(usage, "cost");
  if (!isCount(cost)) return undefined;
  const upstream = memberOf(usage, "is_byok") === true ? memberOf(usage, "cost_details") : undefined;
  const inference = memberOf(upstream, "upstream_inference_cost");
  const dollars = cost + (isCount(inference) ? inference : 0);
  return Math.ceil(Number((dollars * 1_000_000).toFixed(6)));
}
