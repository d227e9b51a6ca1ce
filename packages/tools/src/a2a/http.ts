/** One HTTP request to a remote agent: nothing is followed, everything has an end, and the address dialled is checked. */

import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { isPublicAddress, publicLookup } from "../egress/public-address.ts";

export type HttpRequest = {
  readonly method: "GET" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Longest silence of the other side. */
  readonly idleMs: number;
  /** Whether the address may be one of this machine or of a private network, and may do without TLS. */
  readonly allowPrivate: boolean;
  readonly signal: AbortSignal;
};
export type HttpReply = { readonly status: number; readonly type: string; readonly body: IncomingMessage };

/** What went wrong between us and the other side. `status` of its answer; `again`: the same request may succeed later. */
export class RemoteFailure extends Error {
  readonly again: boolean;

  constructor(message: string, { again = false, cause }: { readonly again?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause });
    this.again = again;
  }
}

/** Resolves with the head of the answer. The caller reads the body to its end or destroys it. */
export async function send(request: HttpRequest): Promise<HttpReply> {
  const { method, url, headers, body, idleMs, allowPrivate, signal } = request;
  refuseAddress(url, allowPrivate);
  const { promise, resolve, reject } = Promise.withResolvers<HttpReply>();
  const options: RequestOptions = {
    method,
    headers: { ...headers, "accept-encoding": "identity" },
    agent: false, // a connection for each: none is kept whose address was checked long ago
    timeout: idleMs,
    signal,
    ...(!allowPrivate && { lookup: publicLookup }),
  };
  const begin = url.protocol === "https:" ? httpsRequest : httpRequest;
  let answer: IncomingMessage | undefined;
  const outgoing = begin(url, options, (incoming) => {
    answer = incoming;
    const { statusCode: status = 0 } = incoming;
    const encoding = incoming.headers["content-encoding"] ?? "identity";
    if (status >= 300 && status < 400)
      return fail(incoming, `${url.host} answered with a redirect (${status}), which is not followed`);
    if (encoding !== "identity") return fail(incoming, `${url.host} answered in an encoding that was not asked for`);
    return resolve({ status, type: (incoming.headers["content-type"] ?? "").toLowerCase(), body: incoming });
  });
  const fail = (incoming: IncomingMessage, why: string): void => {
    incoming.destroy();
    reject(new RemoteFailure(why));
  };
  outgoing.on("timeout", () => (answer ?? outgoing).destroy(silent(url, idleMs)));
  outgoing.on("error", (error: NodeJS.ErrnoException) => reject(failureOf(error, url, signal)));
  outgoing.end(body);
  return promise;
}

/** The chunks of a body, at most `maxBytes` of it. Leaving early closes the connection. */
export async function* chunksOf(
  { body }: HttpReply,
  { url, signal, maxBytes }: { readonly url: URL; readonly signal: AbortSignal; readonly maxBytes: number },
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new RemoteFailure(`${url.host} sent more than ${maxBytes} bytes`);
      yield chunk;
    }
  } catch (error) {
    throw failureOf(error, url, signal);
  } finally {
    body.destroy();
  }
}

/** The body as JSON. */
export async function jsonOf(reply: HttpReply, limits: Parameters<typeof chunksOf>[1]): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of chunksOf(reply, limits)) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
  } catch (error) {
    throw new RemoteFailure(`${limits.url.host} answered with something that is not JSON`, { cause: error });
  }
}

function refuseAddress(url: URL, allowPrivate: boolean): void {
  if (allowPrivate) return;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (url.protocol !== "https:") throw new RemoteFailure(`${url.host} would be spoken to without TLS`);
  if (isIP(host) !== 0 && !isPublicAddress(host)) throw new RemoteFailure(`${url.host} is in a private network`);
}

function silent(url: URL, idleMs: number): RemoteFailure {
  return new RemoteFailure(`${url.host} sent nothing for ${Math.round(idleMs / 1000)} seconds`, { again: true });
}

function failureOf(error: unknown, url: URL, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof RemoteFailure) return error;
  const { code, message } = error as NodeJS.ErrnoException; // node's own errors
  const why = code === undefined ? message : code === "ECONNRESET" ? "the connection was lost" : code;
  return new RemoteFailure(`The connection to ${url.host} failed: ${why}`, { again: true, cause: error });
}
