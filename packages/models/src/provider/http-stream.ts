/** One call of a provider over HTTP: send, ask for a new key after a 401, read the stream into model events. */

import { type CapstanError, type ModelEvent, systemClock } from "@capstan/core";
import { type SseEvent, sseReader, type SseReader } from "../sse.ts";
import type { TransportResponse } from "../transport.ts";
import { type Endpoint, keyIn } from "./endpoint.ts";
import { protocolError, type ProviderName, refusedError, shown } from "./errors.ts";

/** Turns what a chunk brought into events. One a response; private to it. */
export interface StreamDecoder {
  /** Events of one network chunk, in order. Throws for an error inside the stream and for what breaks the protocol. */
  push(events: readonly SseEvent[]): readonly ModelEvent[];
  /** The body has ended. Gives `finish` when the stream had said before that it was whole, else nothing. */
  end(): readonly ModelEvent[];
  /** `finish` was given: nothing of what follows counts. */
  readonly finished: boolean;
  /** Anything of the protocol has come. */
  readonly started: boolean;
}
/** The typed error for an error body or event of this response. */
export type ToError = (body: string) => CapstanError;
/** Makes the body, as text or as segments whose concatenation it is. */
export type EncodeBody = () => Promise<Body> | Body;
type Body = string | readonly string[];
/** An error's text is read up to here. */
const ERROR_BODY_BYTES = 64 * 1024;
/** How long the end of the body may take after the message has ended, so that the connection can be used again. */
const LINGER_MS = 100;

/** A stream that ends without `finish` was cut. */
export async function* sseStream(
  endpoint: Endpoint,
  encode: EncodeBody,
  signal: AbortSignal,
  decoderOf: (toError: ToError) => StreamDecoder,
  readerOf: () => SseReader = sseReader,
): AsyncGenerator<readonly ModelEvent[]> {
  signal.throwIfAborted();
  const { response, secret } = await post(endpoint, await encode(), signal);
  const { provider } = endpoint;
  const reader = readerOf();
  const decoder = decoderOf((body) => refusedError(provider, { headers: response.headers, body, key: secret() }));
  const chunks = response.chunks[Symbol.asyncIterator]();
  try {
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      const events = decoder.push(reader.push(next.value));
      if (events.length > 0) yield events;
      if (decoder.finished) return;
    }
    if (!decoder.started) throw protocolError(provider, "sent an empty answer", { retryable: true });
    const last = decoder.end();
    if (last.length > 0) yield last;
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

type Opened = { readonly response: TransportResponse; readonly secret: () => string };

async function post(endpoint: Endpoint, body: Body, signal: AbortSignal): Promise<Opened> {
  const { response, secret } = await postWithKey(endpoint, body, signal);
  const type = response.headers["content-type"] ?? "";
  if (response.status === 200 && /^text\/event-stream/i.test(type)) return { response, secret };
  throw await refusalOf(endpoint.provider, response, secret());
}

/** The answer to one POST, whatever its status, and the key it was sent with. */
async function postWithKey(endpoint: Endpoint, body: Body, signal: AbortSignal): Promise<Opened> {
  const { url, transport } = endpoint;
  const send = async (key: string): Promise<Opened> => {
    const headers = headersWith(endpoint, key);
    const response = await transport({ url, headers, body, signal });
    return { response, secret: () => keyIn(headers, endpoint.keyHeader.name) };
  };
  const key = await endpoint.key(false);
  const opened = await send(key);
  if (opened.response.status !== 401) return opened;
  const fresh = await endpoint.key(true, key);
  if (fresh === key) return opened;
  await readText(opened.response);
  return send(fresh);
}

/** Without `key`, the caller's own headers carry one, or none is needed. */
function headersWith({ keyHeader, headers }: Endpoint, key: string): Endpoint["headers"] {
  if (key === "") return headers;
  const value = keyHeader.scheme === undefined ? key : `${keyHeader.scheme} ${key}`;
  return { [keyHeader.name]: value, ...headers };
}

/** A POST whose answer is one JSON document, as text. Throws what `sseStream` would throw. */
export async function postJson(endpoint: Endpoint, body: Body, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { response, secret } = await postWithKey(endpoint, body, signal);
  if (response.status === 200) return readText(response, Number.POSITIVE_INFINITY);
  throw await refusalOf(endpoint.provider, response, secret());
}

async function refusalOf(provider: ProviderName, response: TransportResponse, key: string): Promise<CapstanError> {
  const { status, headers } = response;
  const body = await readText(response);
  if (status !== 200) return refusedError(provider, { status, headers, body, key });
  if (/^\s*[{[][^]*"error"\s*:\s*[^\sn]/.test(body)) return refusedError(provider, { headers, body, key });
  const type = shown(headers["content-type"] ?? "no content type", key);
  const what = body.trim() === "" ? "sent an empty answer" : `sent ${type} instead of an event stream`;
  return protocolError(provider, what, { retryable: body.trim() === "" });
}

async function readText(response: TransportResponse, maxCharacters: number = ERROR_BODY_BYTES): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.chunks) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxCharacters) break;
  }
  return text;
}
