/** Token counts of a response. The API's `input_tokens` includes what was read from and written to the cache. */

import type { Usage } from "@capstan/core";
import { countOf, type JsonObject, memberOf } from "../provider/json.ts";

export function toUsage(response: JsonObject): Usage {
  const { usage } = response;
  const input = memberOf(usage, "input_tokens_details");
  const cacheReadTokens = countOf(memberOf(input, "cached_tokens"));
  const cacheWriteTokens = countOf(memberOf(input, "cache_write_tokens"));
  const reasoningTokens = countOf(memberOf(memberOf(usage, "output_tokens_details"), "reasoning_tokens"));
  return {
    inputTokens: Math.max(0, countOf(memberOf(usage, "input_tokens")) - cacheReadTokens - cacheWriteTokens),
    outputTokens: countOf(memberOf(usage, "output_tokens")),
    ...(cacheReadTokens > 0 && { cacheReadTokens }),
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    ...(reasoningTokens > 0 && { reasoningTokens }),
  };
}
