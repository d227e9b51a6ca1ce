/** Claude models: `POST {baseUrl}/v1/messages` (protocols.md section 1), answered as server-sent events. */

import {
  CapstanError,
  type Json,
  type Model,
  type ModelCapabilities,
  type ModelEvent,
  type ModelRequest,
  systemClock,
} from "@capstan/core";
import { type BodyEncoder, bodyEncoder } from "./anthropic/body.ts";
import { messageDecoder } from "./anthropic/decode.ts";
import { protocolError, shown, toAnthropicError } from "./anthropic/errors.ts";
import { DEFAULT_MODEL, modelFacts } from "./anthropic/model-table.ts";
import type { Price } from "./price.ts";
import { sseReader } from "./sse.ts";
import { nodeTransport, type Transport, type TransportResponse } from "./transport.ts";

/** A key, or a function asked before every call, and once more with `rejected: true` after a 401. */
export type ApiKey = string | ((state: { readonly rejected: boolean }) => string | Promise<string>);

export type AnthropicOptions = {
  /** Default: `ANTHROPIC_API_KEY`. Not needed when `headers` hold an `authorization`. */
  readonly apiKey?: ApiKey;
  /** With or without a final `/v1`. Default: `ANTHROPIC_BASE_URL`, else Anthropic's own. */
  readonly baseUrl?: string;
  /** Sent with every request; they win over ours. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Names for the `anthropic-beta` header. */
  readonly betas?: readonly string[];
  /** Members merged into the body last; those of a request's settings win over these. */
  readonly extraBody?: Json;
  readonly transport?: Transport;
  /** Default: what the model can do, at most `DEFAULT_OUTPUT_TOKENS`. */
  readonly maxOutputTokens?: number;
  /** Merged over what is known about the model. `cacheMarkers: false` for an endpoint that refuses `cache_control`. */
  readonly capabilities?: ModelCapabilities;
  /** Default: the published price, when it is known. */
  readonly price?: Price;
};

type Env = Readonly<Record<string, string | undefined>>;

const BASE_URL = "https://api.anthropic.com";
/** The newest published revision; its difference to `2023-06-01` does not touch what is used here. */
const VERSION = "2026-10-21";
/** Tokens of one answer unless asked otherwise: room for thinking, far from what a runaway answer costs. */
const DEFAULT_OUTPUT_TOKENS = 32_000;
/** An error's text is read up to here. */
const ERROR_BODY_BYTES = 64 * 1024;
/** How long the end of the body may take after the message has ended, so that the connection can be used again. */
const LINGER_MS = 100;

/** Without `modelId`: `ANTHROPIC_MODEL`, else `DEFAULT_MODEL`. Throws `model-key-missing` or `config-invalid` at once. */
export function anthropic(modelId?: string, options: AnthropicOptions = {}): Model {
  return anthropicFrom(process.env, modelId, options);
}

/** As `anthropic`, with the variables of a given environment. */
export function anthropicFrom(env: Env, modelId?: string, options: AnthropicOptions = {}): Model {
  const id = modelId ?? nonEmpty(env["ANTHROPIC_MODEL"]) ?? DEFAULT_MODEL;
  const facts = modelFacts(id);
  const capabilities: ModelCapabilities = {
    contextTokens: facts.contextTokens,
    images: true,
    files: ["application/pdf", "text/plain"],
    imageInToolResult: true,
    reasoning: true,
    structured: facts.structured,
    cacheMarkers: true,
    ...options.capabilities,
  };
  const maxOutputTokens = options.maxOutputTokens ?? Math.min(facts.maxOutputTokens, DEFAULT_OUTPUT_TOKENS);
  const endpoint: Endpoint = {
    modelId: id,
    url: messagesUrl(options.baseUrl ?? nonEmpty(env["ANTHROPIC_BASE_URL"]) ?? BASE_URL),
    key: keySource(env, options),
    headers: headersOf(options),
    transport: options.transport ?? nodeTransport,
    price: options.price ?? facts.price,
    encode: bodyEncoder({
      modelId: id,
      maxOutputTokens,
      maxOutputLimit: facts.maxOutputTokens,
      thinking: facts.thinking,
      images: capabilities.images !== false,
      cacheMarkers: capabilities.cacheMarkers !== false,
      ...(options.extraBody !== undefined && { extraBody: options.extraBody }),
    }),
  };
  return { id: `anthropic/${id}`, capabilities, stream: (request) => stream(endpoint, request) };
}

type KeySource = (rejected: boolean) => Promise<string> | string;
type Endpoint = {
  readonly modelId: string;
  readonly url: string;
  readonly key: KeySource;
  readonly headers: Readonly<Record<string, string>>;
  readonly transport: Transport;
  readonly price: Price | undefined;
  readonly encode: BodyEncoder;
};

async function* stream(endpoint: Endpoint, request: ModelRequest): AsyncGenerator<readonly ModelEvent[]> {
  const { signal } = request;
  signal.throwIfAborted();
  const { response, secret } = await post(endpoint, await endpoint.encode(request), signal);
  const reader = sseReader();
  const decoder = messageDecoder({
    modelId: endpoint.modelId,
    price: endpoint.price,
    toError: (body) => toAnthropicError({ headers: response.headers, body, key: secret }),
  });
  const chunks = response.chunks[Symbol.asyncIterator]();
  try {
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      const events = decoder.push(reader.push(next.value));
      if (events.length > 0) yield events;
      if (decoder.finished) return;
    }
    if (!decoder.started) throw protocolError("sent an empty answer", { retryable: true });
  } finally {
    if (decoder.finished) await linger(chunks);
    else await chunks.return?.();
  }
}

/** Reads what follows the message, normally nothing but its end. */
async function linger(chunks: AsyncIterator<Uint8Array>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const cancel = systemClock.after(LINGER_MS, resolve, { background: true });
  let done = false;
  const drain = async (): Promise<void> => {
    while (!done) done = (await chunks.next()).done === true;
  };
  await Promise.race([drain().catch(() => {}), late]); // the message is whole: what breaks now is no error
  cancel();
  if (done) return;
  done = true;
  chunks.return?.().catch(() => {}); // not awaited: a generator would first wait for its next chunk
}

async function post(
  endpoint: Endpoint,
  body: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly response: TransportResponse; readonly secret: string }> {
  let key = await endpoint.key(false);
  let response = await send(endpoint, key, body, signal);
  if (response.status === 401) {
    const fresh = await endpoint.key(true);
    if (fresh !== key) {
      await readText(response);
      key = fresh;
      response = await send(endpoint, key, body, signal);
    }
  }
  const isStream = /^text\/event-stream/i.test(response.headers["content-type"] ?? "");
  const secret = key === "" ? (endpoint.headers["authorization"] ?? "").replace(/^\S+\s+/, "") : key;
  if (response.status === 200 && isStream) return { response, secret };
  throw await refusalOf(response, secret);
}

function send(
  endpoint: Endpoint,
  key: string,
  body: readonly string[],
  signal: AbortSignal,
): Promise<TransportResponse> {
  const headers = key === "" ? endpoint.headers : { "x-api-key": key, ...endpoint.headers };
  return endpoint.transport({ url: endpoint.url, headers, body, signal });
}

async function refusalOf(response: TransportResponse, key: string): Promise<CapstanError> {
  const { status, headers } = response;
  const body = await readText(response);
  const isError = /^\s*\{[^]*"error"/.test(body);
  if (status !== 200) return toAnthropicError({ status, headers, body, key });
  if (isError) return toAnthropicError({ headers, body, key });
  const type = shown(headers["content-type"] ?? "no content type", key);
  const what = body.trim() === "" ? "sent an empty answer" : `sent ${type} instead of an event stream`;
  return protocolError(what, { retryable: body.trim() === "" });
}

async function readText(response: TransportResponse): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.chunks) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > ERROR_BODY_BYTES) break;
  }
  return text;
}

function headersOf(options: AnthropicOptions): Record<string, string> {
  const headers: Record<string, string> = {
    accept: "text/event-stream",
    "content-type": "application/json",
    "anthropic-version": VERSION,
  };
  if (options.betas !== undefined && options.betas.length > 0) headers["anthropic-beta"] = options.betas.join(",");
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = value;
  return headers;
}

function keySource(env: Env, options: AnthropicOptions): KeySource {
  const { apiKey, headers = {} } = options;
  if (typeof apiKey === "function") return async (rejected) => checkedKey(await apiKey({ rejected }));
  const authorized = Object.keys(headers).some((name) => /^(authorization|x-api-key)$/i.test(name));
  if (apiKey === undefined && authorized) return () => "";
  const key = checkedKey(apiKey ?? env["ANTHROPIC_API_KEY"] ?? "");
  return () => key;
}

function checkedKey(key: string): string {
  const trimmed = key.trim();
  if (trimmed === "") {
    const message = "There is no key for Anthropic. Set ANTHROPIC_API_KEY or pass apiKey.";
    throw new CapstanError("model-key-missing", message, { provider: "anthropic" });
  }
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  const message = "The key for Anthropic holds characters that a header cannot carry. Copy it again.";
  throw new CapstanError("model-auth", message, { provider: "anthropic" });
}

function messagesUrl(baseUrl: string): string {
  const base = baseUrl.trim().replace(/\/+$/, "");
  const url = `${base.endsWith("/v1") ? base : `${base}/v1`}/messages`;
  if (/^https?:/i.test(base) && URL.canParse(url)) return url;
  throw new CapstanError("config-invalid", "The base URL for Anthropic is not an http or https URL. Correct it.");
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === "" ? undefined : value.trim();
}
