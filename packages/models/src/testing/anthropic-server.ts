/** A scripted Anthropic Messages server on the loopback: refuses what the API refuses, and breaks when told to. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
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
import { type CacheBlock, type CacheUse, type PromptCache, promptCache } from "./prompt-cache.ts";

/** How the bytes of an answer travel. */
export type Delivery = {
  /** Size of one piece; between pieces the server lets others run. Default: all at once. */
  readonly chunkBytes?: number;
  /** The connection breaks after this many bytes of the body. */
  readonly cutAfterBytes?: number;
  /** Silence after this many bytes of the body, until the promise resolves. */
  readonly stall?: { readonly afterBytes: number; readonly until: Promise<unknown> };
};

export type AnthropicReply =
  | {
      readonly content: readonly ReplyBlock[];
      /** Default: `tool_use` when the content has one, else `end_turn`. */
      readonly stopReason?: string;
      /** Changes the events of the answer before they are sent. */
      readonly edit?: (events: readonly WireEvent[]) => readonly WireEvent[];
      readonly delivery?: Delivery;
    }
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** Sent as JSON when it is not a string. Default: an error of the status. */
      readonly body?: unknown;
      readonly delivery?: Delivery;
    };

export type RecordedRequest = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body's text as it came. */
  readonly text: string;
  readonly body: { readonly [name: string]: unknown };
  /** How its input was charged by the simulated prompt cache; undefined when it was refused. */
  readonly cache?: CacheUse;
};

/** A list of answers in order, or a function of the request and its number, from 0. */
export type AnthropicScript =
  | readonly AnthropicReply[]
  | ((request: RecordedRequest, index: number) => AnthropicReply | Promise<AnthropicReply>);

export interface AnthropicServer extends AsyncDisposable {
  /** The base URL. */
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  /** What the API would have refused; each was answered with 400. */
  readonly violations: readonly string[];
  /** Connections that were opened so far. */
  readonly connections: number;
  /** Breaks what is open. May be called twice. */
  close(): Promise<void>;
}

/** Listens on a free port of 127.0.0.1. The caller closes it. */
export async function anthropicServer(script: AnthropicScript): Promise<AnthropicServer> {
  const requests: RecordedRequest[] = [];
  const violations: string[] = [];
  const state: ServerState = { script, requests, violations, cache: promptCache(), issued: new Map() };
  const server = createServer((request, response) => {
    answer(state, request, response).catch((error: unknown) => {
      violations.push(`the script failed: ${String(error)}`);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closing;
  };
  let connections = 0;
  server.on("connection", () => connections++);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    violations,
    get connections() {
      return connections;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

type ServerState = {
  readonly script: AnthropicScript;
  readonly requests: RecordedRequest[];
  readonly violations: string[];
  readonly cache: PromptCache;
  /** Thinking by its signature; redacted data by itself. */
  readonly issued: Map<string, string>;
};

async function answer(state: ServerState, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = await bodyText(incoming);
  const body = parsed(text);
  const request = { path: incoming.url ?? "", headers: incoming.headers, text, body };
  const issued: IssuedThinking = (block) =>
    "data" in block ? state.issued.has(block.data) : state.issued.get(block.signature) === block.thinking;
  const problems = checkAnthropicRequest(incoming.headers, body, issued);
  if (incoming.method !== "POST" || request.path !== "/v1/messages") problems.push(`${request.path}: no such path`);
  if (problems.length > 0) {
    state.requests.push(request);
    state.violations.push(...problems);
    return deliver(response, { status: 400, body: errorBody("invalid_request_error", problems.join("; ")) }, undefined);
  }
  const cache = state.cache.use(cacheBlocks(body));
  const recorded = { ...request, cache };
  const index = state.requests.push(recorded) - 1;
  const reply = typeof state.script === "function" ? await state.script(recorded, index) : state.script[index];
  if (reply === undefined) throw new Error(`there is no answer number ${index}`);
  return deliver(response, reply, "content" in reply ? streamOf(state, reply, recorded, index) : undefined);
}

function streamOf(
  state: ServerState,
  reply: Extract<AnthropicReply, { readonly content: readonly ReplyBlock[] }>,
  request: RecordedRequest,
  index: number,
): Buffer {
  for (const block of reply.content) {
    if (block.type === "thinking") state.issued.set(signatureOf(block.thinking), block.thinking);
    if (block.type === "redacted_thinking") state.issued.set(block.data, block.data);
  }
  const calls = reply.content.some((block) => block.type === "tool_use");
  const head = { id: `msg_${index}`, model: String(request.body["model"]), usage: usageOf(request.cache) };
  const events = replyEvents(head, reply.content, reply.stopReason ?? (calls ? "tool_use" : "end_turn"));
  return wireBytes(reply.edit?.(events) ?? events);
}

function usageOf(use: CacheUse | undefined): WireUsage {
  const { input = 0, read = 0, written = 0 } = use ?? {};
  return { input_tokens: input, cache_creation_input_tokens: written, cache_read_input_tokens: read };
}

async function deliver(response: ServerResponse, reply: AnthropicReply, stream: Buffer | undefined): Promise<void> {
  const { status = 200, headers = {}, body } = "status" in reply ? reply : {};
  const plain = typeof body === "string" ? body : JSON.stringify(body ?? errorBody(typeOf(status), `status ${status}`));
  const bytes = stream ?? Buffer.from(plain);
  const contentType = stream === undefined ? "application/json" : "text/event-stream; charset=utf-8";
  response.writeHead(status, { "content-type": contentType, "request-id": "req_scripted", ...headers });
  const { chunkBytes = bytes.length, cutAfterBytes = Infinity, stall } = reply.delivery ?? {};
  const end = Math.min(bytes.length, cutAfterBytes);
  if (end === 0) response.flushHeaders();
  for (let at = 0; at < end && !response.destroyed;) {
    if (stall !== undefined && at === stall.afterBytes) await stall.until;
    const next = Math.min(
      end,
      at + chunkBytes,
      stall !== undefined && at < stall.afterBytes ? stall.afterBytes : Infinity,
    );
    await new Promise<void>((resolve) => response.write(bytes.subarray(at, next), () => setImmediate(resolve)));
    at = next;
  }
  if (cutAfterBytes < bytes.length) response.destroy();
  else response.end();
}

async function bodyText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer); // no encoding is set
  return Buffer.concat(chunks).toString();
}

function parsed(text: string): { readonly [name: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
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

function typeOf(status: number): string {
  return TYPES[status] ?? "api_error";
}

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
