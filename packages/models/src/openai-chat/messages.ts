/** The message list of a request. A turn joins texts that were encoded once; results stand right behind their calls. */

import type { Json, Message, ModelRequest, Part, ToolCallPart } from "@capstan/core";
import { inputOf, ownSeal } from "../provider/call.ts";
import { type EncodeContext, type EncodeMessage, messageEncoder } from "../provider/encoded-messages.ts";
import { FILE_GAPS, fileMarker } from "../provider/files.ts";
import { isObject, type JsonObject, listOf, memberOf } from "../provider/json.ts";
import { systemText } from "../provider/system-text.ts";
import { isBlank, wireJson } from "../wire-text.ts";
import { type ContentPart, type FileContext, fileContent, resultContent, textContent } from "./content.ts";
import type { ChatDialect } from "./dialect.ts";
import { addDetails, sendableDetails } from "./reasoning-details.ts";

export type MessageOptions = Omit<FileContext, "blobs"> & {
  readonly modelId: string;
  readonly reasoningOut: ChatDialect["reasoningOut"];
  /** The server takes `cache_control`. All content is then written as lists, so that a marker changes nothing else. */
  readonly cacheMarkers: boolean;
};

/** Stands before the results of a message and between them and what else it says; JSON text holds no line feed. */
const RESULTS = "\n";
/** How a message ends whose last content part can carry a marker. */
const MARKABLE = "}]}";
const CACHE_CONTROL = ',"cache_control":{"type":"ephemeral"}';

/**
 * One encoder a model: items of the JSON array, in order. Of the indexes in `request.cache` the last `maxMarkers` count;
 * a message that cannot carry a marker leaves it to the nearest one before.
 */
export function chatMessages(
  options: MessageOptions,
): (request: ModelRequest, maxMarkers: number) => Promise<readonly string[]> {
  const encode = messageEncoder(options.provider.id, encodeWith(options));
  return async ({ messages, cache, blob }, maxMarkers) => {
    const texts = await encode(messages, blob);
    return ordered(messages, options.cacheMarkers ? marked(texts, cache, maxMarkers) : texts);
  };
}

/** The system text as the first item. */
export function systemMessage(role: string, text: string, options: MessageOptions, mark: boolean): string {
  const message = wireJson({ role, content: contentOf([{ type: "text", text }], options) });
  return mark && options.cacheMarkers ? withMarker(message) : message;
}

function marked(texts: readonly string[], cache: readonly number[], max: number): readonly string[] {
  const places = new Set<number>();
  for (const index of cache.toSorted((a, b) => a - b)) {
    let at = Math.min(index, texts.length - 1);
    while (at >= 0 && texts[at]?.endsWith(MARKABLE) !== true) at--;
    if (at >= 0) places.add(at);
  }
  const last = max <= 0 ? [] : [...places].slice(-max);
  return texts.map((text, index) => (last.includes(index) ? withMarker(text) : text));
}

function withMarker(text: string): string {
  return text.slice(0, -MARKABLE.length) + CACHE_CONTROL + MARKABLE;
}

/** Results must follow the message with their calls: what else users said in between comes behind all of them. */
function ordered(messages: readonly Message[], texts: readonly string[]): readonly string[] {
  const items: string[] = [];
  let behind: string[] = [];
  for (const [index, text] of texts.entries()) {
    if (text === "") continue;
    if (messages[index]?.role === "assistant") {
      items.push(...behind, text);
      behind = [];
      continue;
    }
    if (!text.startsWith(RESULTS)) behind.push(text);
    else {
      const [, results = "", other] = text.split(RESULTS);
      items.push(results);
      if (other !== undefined) behind.push(other);
    }
  }
  return [...items, ...behind];
}

function encodeWith(options: MessageOptions): EncodeMessage<string> {
  return (message, context) => {
    if (message.role === "assistant") return assistantMessage(message.parts, context, options);
    const files = { ...options, blobs: context.blobs };
    if (message.role === "user") return userMessage(message.parts, context, options, files);
    const text = systemText(message); // templates of open models, too, refuse system messages between others
    return text === "" ? "" : userItem([{ type: "text", text }], options);
  };
}

function userMessage(
  parts: readonly Part[],
  context: EncodeContext,
  options: MessageOptions,
  files: FileContext,
): string {
  const results: string[] = [];
  const below: ContentPart[] = [];
  const others: ContentPart[] = [];
  for (const part of parts) {
    if (part.type === "tool-result") {
      const made = resultContent(part.output, part.name, files);
      const content = contentOf(made.content, options);
      results.push(wireJson({ role: "tool", tool_call_id: context.idOfResult(part.callId), content }));
      below.push(...made.below);
    } else {
      const made =
        part.type === "text" ? textContent(part.text) : part.type === "file" ? fileContent(part, files) : undefined;
      if (made !== undefined) others.push(made);
    }
  }
  const said = [...below, ...others];
  const other = said.length === 0 ? "" : userItem(said, options);
  if (results.length === 0) return other;
  return RESULTS + results.join(",") + (other === "" ? "" : RESULTS + other);
}

function userItem(content: readonly ContentPart[], options: MessageOptions): string {
  return wireJson({ role: "user", content: contentOf(content, options) });
}

/** One string where it will do: not every server takes lists. */
function contentOf(parts: readonly ContentPart[], options: MessageOptions): string | readonly ContentPart[] {
  if (options.cacheMarkers) return parts;
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length === parts.length ? texts.join("\n\n") : parts;
}

/** `content` is its last member, where a marker may go. */
function assistantMessage(parts: readonly Part[], context: EncodeContext, options: MessageOptions): string {
  const texts = parts.flatMap((part) => {
    if (part.type === "file") return [fileMarker(part, FILE_GAPS.unreadable)];
    return part.type === "text" && !isBlank(part.text) ? [part.text] : [];
  });
  const calls = parts.filter((part) => part.type === "tool-call").filter((part) => part.by !== "provider");
  if (texts.length === 0 && calls.length === 0) return "";
  const text = texts.join("\n\n").trimEnd();
  return wireJson({
    role: "assistant",
    ...reasoningMembers(parts, calls.length > 0, options),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => toolCall(call, context, options)) }),
    content: text === "" ? null : contentOf([{ type: "text", text }], options),
  });
}

function toolCall(part: ToolCallPart, context: EncodeContext, options: MessageOptions): object {
  const extra = memberOf(ownSeal(part.seal, options.provider.id), "extra");
  return {
    id: context.idOfCall(part),
    type: "function",
    function: { name: part.name, arguments: JSON.stringify(inputOf(part)) },
    ...(isObject(extra) && extra),
  };
}

/** Reasoning of this model at this server; that of others is left out. */
function reasoningMembers(parts: readonly Part[], calls: boolean, options: MessageOptions): JsonObject {
  const { reasoningOut, modelId, provider } = options;
  if (reasoningOut === "none") return {};
  const own = parts
    .filter((part) => part.type === "reasoning")
    .filter(({ seal }) => memberOf(ownSeal(seal, provider.id), "model") === modelId);
  const text = own.map((part) => part.text).join("");
  if (reasoningOut === "reasoning") return text === "" ? {} : { reasoning: text };
  // DeepSeek refuses a call without the member, also one that another model made.
  if (reasoningOut === "reasoning_content") return text === "" && !calls ? {} : { reasoning_content: text };
  const details: JsonObject[] = [];
  for (const { seal } of own) addDetails(details, listOf(memberOf(seal?.data, "details")));
  if (details.length === 0) return text === "" ? {} : { reasoning: text };
  const sendable: readonly Json[] = sendableDetails(details);
  return sendable.length === 0 ? {} : { reasoning_details: sendable };
}
