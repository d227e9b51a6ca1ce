/** What servers of the chat completions protocol do differently (protocols.md section 2.3), as data. */

import type { ModelSettings } from "@capstan/core";
import { type Effort, effortOf } from "../provider/effort.ts";
import type { JsonObject } from "../provider/json.ts";

export type ReasoningWish = NonNullable<ModelSettings["reasoning"]>;

/** Reasoning that comes in is read from every known member; what goes out depends on the server. */
export type ChatDialect = {
  /** The member of the body that limits the answer. */
  readonly maxTokens: "max_completion_tokens" | "max_tokens";
  /** The role under which the system text goes. */
  readonly systemRole: "system" | "developer";
  /** The member of an assistant message in which its reasoning goes back. */
  readonly reasoningOut: "none" | "reasoning" | "reasoning_content" | "reasoning_details";
  /** Members of the body that ask for reasoning, or for none. */
  readonly reasoning: (wish: ReasoningWish) => JsonObject;
  /** `strict` says so where the schema allows it; `none`: the server knows no schemas. */
  readonly outputSchema: "strict" | "plain" | "none";
  /** Whether the server takes `stream_options.include_usage`. */
  readonly streamUsage: boolean;
  /** `usage.cost` is what the call cost, in US dollars. */
  readonly costInUsage: boolean;
  /** Tools take `cache_control` too, at models that take it on content parts. */
  readonly toolMarkers: boolean;
};

/** What every compatible server is likely to take. */
export const COMPATIBLE: ChatDialect = {
  maxTokens: "max_tokens",
  systemRole: "system",
  reasoningOut: "none",
  reasoning: reasoningEffort,
  outputSchema: "plain",
  streamUsage: true,
  costInUsage: false,
  toolMarkers: false,
};

/** OpenAI's own endpoint. It gives no reasoning out. */
export const OPENAI: ChatDialect = {
  ...COMPATIBLE,
  maxTokens: "max_completion_tokens",
  systemRole: "developer",
  outputSchema: "strict",
};

/** The nearest effort; undefined where the model is to choose. */
export function effortFor(wish: Exclude<ReasoningWish, "off">): Effort | undefined {
  if (typeof wish === "object") return effortOf(wish.budgetTokens);
  return wish === "adaptive" ? undefined : wish;
}

/** `reasoning_effort`, as OpenAI has it. */
export function reasoningEffort(wish: ReasoningWish): JsonObject {
  if (wish === "off") return { reasoning_effort: "none" };
  const effort = effortFor(wish);
  return effort === undefined ? {} : { reasoning_effort: effort };
}
