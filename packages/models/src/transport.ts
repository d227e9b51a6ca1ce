/** HTTP for providers: one POST, answered as chunks of bytes. `nodeTransport` is node:http(s) with one shared keep-alive agent. */

import type { Agent, ClientRequest, IncomingMessage, request as HttpRequest } from "node:http";
import { urlToHttpOptions } from "node:url";
import { CapstanError } from "@capstan/core";
import { plainChunks } from "./compressed-chunks.ts";
import { responseChunks } from "./response-chunks.ts";

export type TransportRequest = {
  /** `http:` or `https:`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text, or as segments whose concatenation it is. */
  readonly body: string | readonly string[];
  readonly signal: AbortSignal;
  /** Longest silence of the other side, before and between bytes. Default `IDLE_TIMEOUT_MS`. */
  readonly idleTimeoutMs?: number;
};

export type TransportResponse = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The body, to be iterated once. Bytes that came with one read of the socket come as one chunk. Stopping early closes
   * the connection, also while a chunk is awaited; reading to the end gives it back for the next request.
   */
  readonly chunks: AsyncIterable<Uint8Array>;
};

/**
 * Sends one POST and resolves with the head of the answer, whatever its status; redirects are not followed, so that no
 * key travels to another host. Throws `model-network` (retryable) when the connection fails, `model-timeout` (retryable)
 * on silence, and `signal.reason` on abort, also out of `chunks`.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

/** Silence after which a connection counts as dead. Providers send pings or tokens far more often than this. */
export const IDLE_TIMEOUT_MS = 180_000;

/**
 * Free connections are closed by us after this time: below the 350 s after which common NAT gateways forget them, and the
 * same as for busy ones, so that no request sets a timer of its own.
 */
const FREE_SOCKET_MS = IDLE_TIMEOUT_MS;

/**
 * The transport for Node. Proxy variables follow Node's own rule: `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` (and their
 * lower-case names) are honoured when `NODE_USE_ENV_PROXY=1`, else ignored. Every model of the process shares its connections.
 */
export const nodeTransport: Transport = async (request) => {
  request.signal.throwIfAborted();
  // encoded once: node:http would count the bytes of a text first
  const body = Buffer.from(typeof request.body === "string" ? request.body : request.body.join(""));
  try {
    return await send(request, body, false);
  } catch (error) {
    // The server closed an idle connection while we were writing to it: nothing was answered, so the request may go again.
    if (!(error instanceof StaleSocketError)) throw error;
    return send(request, body, true);
  }
};

class StaleSocketError extends Error {}

type Client = { readonly agent: Agent; readonly request: typeof HttpRequest };
/** By protocol. */
const shared = new Map<string, Client>();

function clientFor(protocol: string, fresh: boolean): Client {
  const known = fresh ? undefined : shared.get(protocol);
  if (known !== undefined) return known;
  // not imported: `import` reads every export, and some of these load all of `fetch`, a fifth of the time a program takes to start
  const node = process.getBuiltinModule(protocol === "https:" ? "node:https" : "node:http");
  const agent = new node.Agent({
    keepAlive: !fresh,
    timeout: FREE_SOCKET_MS,
    ...(process.env["NODE_USE_ENV_PROXY"] === "1" && { proxyEnv: process.env }),
  });
  const made = { agent, request: node.request };
  if (!fresh) shared.set(protocol, made);
  return made;
}

function send(request: TransportRequest, body: Buffer, fresh: boolean): Promise<TransportResponse> {
  const { url, address } = parsed(request.url);
  const { agent, request: begin } = clientFor(url.protocol, fresh);
  const idleTimeoutMs = request.idleTimeoutMs ?? IDLE_TIMEOUT_MS;
  const { promise, resolve, reject } = Promise.withResolvers<TransportResponse>();
  const outgoing = begin({
    ...address,
    method: "POST",
    headers: { ...request.headers, "content-length": String(body.length) },
    agent,
    timeout: idleTimeoutMs,
  });
  const { signal } = request;
  const onAbort = (): void => {
    outgoing.destroy();
    reject(signal.reason);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  const release = (): void => signal.removeEventListener("abort", onAbort);

  let incoming: IncomingMessage | undefined;
  outgoing.on("timeout", () => {
    if (incoming?.isPaused() === true) return; // it is our reader that is slow
    (incoming ?? outgoing).destroy(timeoutError(idleTimeoutMs, url));
  });
  outgoing.on("error", (error) => {
    if (incoming !== undefined) return; // the reader of the body hears of it from the response
    release();
    reject(isStale(outgoing, error) ? new StaleSocketError() : toNetworkError(error, url));
  });
  outgoing.on("response", (response) => {
    incoming = response;
    release();
    const toError = (error: unknown): Error => toNetworkError(error, url);
    const raw = responseChunks(response, signal, toError);
    const encoding = response.headers["content-encoding"];
    const chunks = encoding === undefined ? raw : plainChunks(raw, encoding, toError);
    resolve({
      status: response.statusCode ?? 0,
      get headers() {
        return headersOf(response); // seldom asked for
      },
      chunks,
    });
  });
  outgoing.end(body); // head and body leave in one write
  return promise;
}

type Parsed = { readonly url: URL; readonly address: object };
/** A process speaks to few endpoints, each many times. */
const endpoints = new Map<string, Parsed>();
const MAX_ENDPOINTS = 64;

function parsed(text: string): Parsed {
  const known = endpoints.get(text);
  if (known !== undefined) return known;
  const url = new URL(text);
  if (endpoints.size >= MAX_ENDPOINTS) endpoints.clear();
  const { protocol, hostname, port, path, auth } = urlToHttpOptions(url);
  const address = {
    protocol,
    hostname,
    path,
    ...(port !== undefined && { port }),
    ...(auth !== undefined && { auth }),
  };
  const fresh = { url, address };
  endpoints.set(text, fresh);
  return fresh;
}

function isStale(outgoing: ClientRequest, error: NodeJS.ErrnoException): boolean {
  return outgoing.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE");
}

/** Cookies are the only header that node:http gives as a list. */
function headersOf({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  const cookies = headers["set-cookie"];
  const known = headers as Readonly<Record<string, string>>; // the others
  return cookies === undefined ? known : { ...known, "set-cookie": cookies.join(", ") };
}

/** A failed connection as `model-network`. Names the host only: a URL may carry a secret. */
export function toNetworkError(error: unknown, url: URL): CapstanError {
  if (CapstanError.is(error)) return error;
  const reason = (error as NodeJS.ErrnoException | undefined)?.code ?? "connection lost"; // foreign errors may lack a code
  const message = `The connection to ${url.host} failed (${reason}). Check the network and the base URL.`;
  return new CapstanError("model-network", message, { cause: error, retryable: true });
}

export function timeoutError(idleTimeoutMs: number, url: URL): CapstanError {
  const message = `${url.host} sent nothing for ${Math.round(idleTimeoutMs / 1000)} seconds. Try again.`;
  return new CapstanError("model-timeout", message, { retryable: true });
}
