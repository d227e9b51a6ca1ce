/** What a model gave, checked before the log depends on it: a part that is none would stand in the history for ever. */

import { CapstanError } from "./errors.ts";
import type { TurnReason } from "./event.ts";
import { isPlainJson } from "./json.ts";
import { LIMITS } from "./limits.ts";
import type { Part, Usage } from "./message.ts";
import { isFilePart, isOutput, membersOf } from "./output-shape.ts";

/** What a call is given in place of arguments that cannot be kept: a text, so that it is refused. */
const UNUSABLE = "arguments that are no JSON, or are nested too deeply";

/** The part when it is whole. Throws `model-protocol`. */
export function checkedPart(part: Part): Part {
  if (!isPart(part)) {
    const type = String(membersOf(part)?.["type"]).slice(0, 40);
    throw new CapstanError("model-protocol", `The model's answer has a part that is none (type ${type})`);
  }
  return part.type === "tool-call" && !isPlainJson(part.input) ? { ...part, input: UNUSABLE } : part;
}

/** All that the type of a part says. The arguments of a call may be anything yet. */
export function isPart(value: unknown): value is Part {
  const part = membersOf(value);
  if (part === undefined) return false;
  const { type, seal } = part;
  const text = (name: string): boolean => typeof part[name] === "string";
  const none = (name: string): boolean => part[name] === undefined || text(name);
  const sealed = seal === undefined || isSeal(seal);
  switch (type) {
    case "text":
      return text("text");
    case "reasoning":
      return text("text") && sealed;
    case "file":
      return isFilePart(part);
    case "tool-call":
      return text("name") && sealed;
    case "tool-result":
      return text("callId") && text("name") && isOutput(part["output"]) && isPlainJson(part["output"]);
    case "source":
      return text("id") && none("url") && none("title");
    case "opaque":
      return isSeal(seal);
    default:
      return false;
  }
}

function isSeal(value: unknown): boolean {
  const seal = membersOf(value);
  return typeof seal?.["provider"] === "string" && isPlainJson(seal["data"]);
}

const COUNTS = [
  "inputTokens",
  "outputTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "reasoningTokens",
  "costMicroUsd",
] as const satisfies readonly (keyof Usage)[];

/** What can be counted of a usage: what is no number counts nothing, and a sum of what is there stays one. */
export function checkedUsage(usage: Usage | undefined): Usage {
  const counted: { -readonly [K in keyof Usage]: Usage[K] } = { inputTokens: 0, outputTokens: 0 };
  for (const name of COUNTS) {
    const value = usage?.[name];
    if (typeof value === "number" && Number.isFinite(value) && value >= 0)
      counted[name] = Math.min(value, Number.MAX_SAFE_INTEGER);
  }
  return counted;
}

const REASONS = {
  stop: true,
  "tool-calls": true,
  length: true,
  "content-filter": true,
  refusal: true,
  paused: true,
  "context-exceeded": true,
  interrupted: true,
  cut: true,
  error: true,
  other: true,
} as const satisfies Record<TurnReason, true>;

export function checkedReason(reason: TurnReason): TurnReason {
  return Object.hasOwn(REASONS, String(reason)) ? reason : "other";
}

/** Throws `model-protocol` for an answer that does not end. */
export function checkLength(received: number): void {
  if (received <= LIMITS.answerChars) return;
  throw new CapstanError("model-protocol", `The model's answer is longer than ${LIMITS.answerChars} characters`);
}

/** A stream that ended before the answer did. */
export function answerCut(): CapstanError {
  const message = "The model's answer was cut off before its end; try again";
  return new CapstanError("model-cut", message, { retryable: true });
}
