/** Which format a history has, told by the words that only one format uses. */

import type { Json } from "@capstan/core";
import { isObject, type JsonObject, listOf, memberOf, stringOf } from "../provider/json.ts";

/** `ai-sdk-ui`: `UIMessage`s, `ai-sdk`: `ModelMessage`s. */
export type HistoryFormat = "capstan" | "anthropic" | "openai-chat" | "ai-sdk" | "ai-sdk-ui";

/** The format most messages show. What is only text has the same shape in several: then the most common one counts. */
export function detectFormat(messages: readonly (Json | undefined)[]): HistoryFormat {
  const votes = new Map<HistoryFormat, number>();
  for (const message of messages) {
    for (const format of new Set(isObject(message) ? signsOf(message) : [])) {
      votes.set(format, (votes.get(format) ?? 0) + 1);
    }
  }
  const [best] = [...votes].toSorted(([, left], [, right]) => right - left);
  if (best !== undefined) return best[0];
  return messages.some((message) => Array.isArray(memberOf(message, "parts"))) ? "ai-sdk-ui" : "openai-chat";
}

function signsOf(message: JsonObject): readonly HistoryFormat[] {
  const { role, parts, content } = message;
  if (Array.isArray(parts)) return listOf(parts).flatMap((part) => partSign(part));
  const own: HistoryFormat[] = [];
  const openai = ["tool_calls", "tool_call_id", "function_call", "refusal", "reasoning_content"];
  if (openai.some((name) => name in message) || role === "developer" || role === "function") own.push("openai-chat");
  if ("stop_reason" in message) own.push("anthropic");
  if ("providerOptions" in message) own.push("ai-sdk");
  return [...own, ...listOf(content).flatMap((part) => contentSign(part))];
}

const UI_PART = /^(dynamic-tool|step-start|steering-message|source-url|source-document|reasoning-file|custom|data-.+)$/;
const UI_MEMBERS = ["state", "providerMetadata", "toolCallId"];

function partSign(part: Json): readonly HistoryFormat[] {
  const type = stringOf(memberOf(part, "type"));
  if (!isObject(part)) return [];
  if (UI_PART.test(type) || UI_MEMBERS.some((name) => name in part)) return ["ai-sdk-ui"];
  if (type === "file") return [typeof part["url"] === "string" ? "ai-sdk-ui" : "capstan"];
  const ours = type === "tool-call" || type === "tool-result" || type === "opaque" || type === "source";
  return ours || "seal" in part ? ["capstan"] : [];
}

const ANTHROPIC_PART =
  /^(tool_use|tool_result|thinking|redacted_thinking|document|server_tool_use|mcp_tool_use|.+_tool_result)$/;
const OPENAI_PART = /^(image_url|input_audio|refusal)$/;
const AI_PART =
  /^(tool-call|tool-result|reasoning|reasoning-file|custom|tool-approval-request|tool-approval-response)$/;

function contentSign(part: Json): readonly HistoryFormat[] {
  const type = stringOf(memberOf(part, "type"));
  if (!isObject(part)) return [];
  if (ANTHROPIC_PART.test(type) || "cache_control" in part || (type === "image" && "source" in part))
    return ["anthropic"];
  if (OPENAI_PART.test(type) || (type === "file" && "file" in part)) return ["openai-chat"];
  const ai =
    AI_PART.test(type) || "providerOptions" in part || "mediaType" in part || (type === "image" && "image" in part);
  return ai ? ["ai-sdk"] : [];
}
