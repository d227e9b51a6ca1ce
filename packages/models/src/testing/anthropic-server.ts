/** A scripted Anthropic Messages server on the loopback: refuses what the API refuses, and breaks when told to. */

import {
  type ReplyBlock,
  replyEvents,
  signatureOf,
  wireBytes,
  type WireEvent,
  type WireUsage,
} from "./anthropic-replies.ts";
import type { IssuedThinking } from "./check-anthropic-history.ts";
import { checkAnthropicRequest } from "./check-anthropic-request.ts";
import { type CacheBlock, type CacheUse, promptCache } from "./prompt-cache.ts";
import {
  type Delivery,
  type PlainReply,
  type RecordedRequest,
  type Script,
  type ScriptedProvider,
  type ScriptedServer,
  scriptedServer,
} from "./scripted-server.ts";

type AnthropicStream = {
  readonly content: readonly ReplyBlock[];
  /** Default: `tool_use` when the content has one, else `end_turn`. */
  readonly stopReason?: string;
  /** Changes the events of the answer before they are sent. */
  readonly edit?: (events: readonly WireEvent[]) => readonly WireEvent[];
};
export type AnthropicReply = (AnthropicStream & { readonly delivery?: Delivery }) | PlainReply;

/** `cache`: how its input was charged by the simulated prompt cache; undefined when it was refused. */
export type AnthropicRequest = RecordedRequest & { readonly cache?: CacheUse };
export type AnthropicScript = Script<AnthropicReply, AnthropicRequest>;
export type AnthropicServer = ScriptedServer<AnthropicRequest>;

const COUNT_PATH = "/v1/messages/count_tokens";

/** Listens on a free port of 127.0.0.1. The caller closes it. */
export function anthropicServer(script: AnthropicScript): Promise<AnthropicServer> {
  return scriptedServer(anthropicApi(script));
}

/** The API itself, to be served or to stand behind a transport. */
export function anthropicApi(script: AnthropicScript): ScriptedProvider<AnthropicStream, AnthropicRequest> {
  const cache = promptCache();
  /** Thinking by its signature; redacted data by itself. */
  const issued = new Map<string, string>();
  const isIssued: IssuedThinking = (block) =>
    "data" in block ? issued.has(block.data) : issued.get(block.signature) === block.thinking;
  return {
    script,
    check: ({ path, headers, body }) => [
      ...(path === COUNT_PATH ? checkCount(headers, body, isIssued) : checkAnthropicRequest(headers, body, isIssued)),
      ...(path === "/v1/messages" || path === COUNT_PATH ? [] : [`${path}: no such path`]),
    ],
    record: (request) => ({ ...request, cache: cache.use(cacheBlocks(request.body)) }),
    stream(reply, request, index) {
      for (const block of reply.content) {
        if (block.type === "thinking") issued.set(signatureOf(block.thinking), block.thinking);
        if (block.type === "redacted_thinking") issued.set(block.data, block.data);
      }
      return streamBytes(reply, request, index);
    },
    error: (status, message) => errorBody(TYPES[status] ?? "api_error", message),
  };
}

/** The body of a count is that of a message without what only an answer needs. */
function checkCount(
  headers: RecordedRequest["headers"],
  body: RecordedRequest["body"],
  issued: IssuedThinking,
): readonly string[] {
  const surplus = ["max_tokens", "stream", "temperature", "metadata", "service_tier"].filter((name) => name in body);
  // As if it were a message with room for any thinking budget.
  const problems = checkAnthropicRequest(headers, { ...body, max_tokens: Number.MAX_SAFE_INTEGER }, issued);
  return [...problems, ...surplus.map((name) => `${name}: Extra inputs are not permitted`)];
}

function streamBytes(reply: AnthropicStream, request: AnthropicRequest, index: number): Buffer {
  const calls = reply.content.some((block) => block.type === "tool_use");
  const head = { id: `msg_${index}`, model: String(request.body["model"]), usage: usageOf(request.cache) };
  const events = replyEvents(head, reply.content, reply.stopReason ?? (calls ? "tool_use" : "end_turn"));
  return wireBytes(reply.edit?.(events) ?? events);
}

function usageOf(use: CacheUse | undefined): WireUsage {
  const { input = 0, read = 0, written = 0 } = use ?? {};
  return { input_tokens: input, cache_creation_input_tokens: written, cache_read_input_tokens: read };
}

/** The body of an error as the API sends it. */
export function errorBody(type: string, message: string, details?: object): object {
  return {
    type: "error",
    error: { type, message, ...(details !== undefined && { details }) },
    request_id: "req_scripted",
  };
}

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  529: "overloaded_error",
};

/** The blocks of a request in the order of the cache: tools, system, messages. Four characters count as one token. */
export function cacheBlocks(body: { readonly [name: string]: unknown }): readonly CacheBlock[] {
  const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
  const messages = list(body["messages"]).flatMap((message) => {
    const { role, content } = Object(message) as { readonly role?: unknown; readonly content?: unknown };
    return list(content).map((block) => ({ role, block }));
  });
  const others = [...list(body["tools"]), ...list(body["system"])].map((block) => ({ role: "prefix", block }));
  return [...others, ...messages].map(({ role, block }) => {
    const { cache_control: marker, ...rest } = Object(block) as { readonly cache_control?: unknown };
    const text = JSON.stringify(rest);
    return { text: `${String(role)}${text}`, tokens: Math.ceil(text.length / 4), breakpoint: marker !== undefined };
  });
}
