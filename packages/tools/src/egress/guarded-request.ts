/** One HTTP request whose dialled address is judged (G21): nothing is followed, no connection is kept, everything has an end. */

import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import type { Readable } from "node:stream";
import { guardedLookup, RefusedAddress, type Refusal } from "./public-address.ts";

export type GuardedRequest = {
  readonly method: string;
  /** Of http or https. Credentials in it are not sent. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Readable;
  /** Longest silence of the other side. */
  readonly idleMs: number;
  /** Asked for each address that the host stands for, right before it is dialled. */
  readonly refused: Refusal;
  readonly signal: AbortSignal;
};

/** What kept a request from an answer, in words for people and models. */
export class EgressFailure extends Error {}

/** Resolves with the head of the answer. The caller reads the body to its end or destroys it. Throws `EgressFailure`, and the signal's reason on abort. */
export async function guardedRequest(request: GuardedRequest): Promise<IncomingMessage> {
  const { method, url, headers, body, idleMs, refused, signal } = request;
  signal.throwIfAborted();
  await refuseLiteral(url, refused);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { protocol, hostname, port, pathname, search } = url; // not the URL itself: it may hold credentials
  const options: RequestOptions = {
    protocol,
    hostname: withoutBrackets(hostname),
    port,
    path: pathname + search,
    method,
    headers: { host: url.host, ...headers },
    agent: false, // a connection for each: none is kept whose address was judged long ago
    timeout: idleMs,
    lookup: guardedLookup(refused),
    signal,
  };
  const begin = protocol === "https:" ? httpsRequest : httpRequest;
  let answer: IncomingMessage | undefined;
  const outgoing = begin(options, (incoming) => resolve((answer = incoming)));
  outgoing.on("timeout", () => {
    const silence = new EgressFailure(`${url.host} sent nothing for ${Math.round(idleMs / 1000)} seconds`);
    (answer ?? outgoing).destroy(silence);
  });
  outgoing.on("upgrade", (_incoming, socket) => {
    socket.destroy();
    reject(new EgressFailure(`${url.host} wants to speak another protocol`));
  });
  outgoing.on("error", (error: NodeJS.ErrnoException) => reject(failureOf(error, url, signal)));
  if (body === undefined || typeof body === "string") outgoing.end(body);
  else body.on("error", (error) => outgoing.destroy(error)).pipe(outgoing);
  return promise;
}

/** What went wrong on the way, also while a body was read. */
export function failureOf(error: unknown, url: URL, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof EgressFailure) return error;
  if (error instanceof RefusedAddress) return new EgressFailure(error.message, { cause: error });
  const { code, message } = error as NodeJS.ErrnoException; // node's own errors
  const why = code === undefined ? message : code === "ECONNRESET" ? "the connection was lost" : code;
  return new EgressFailure(`The connection to ${url.host} failed: ${why}`, { cause: error });
}

/** An address that stands in the URL itself is not looked up. */
async function refuseLiteral(url: URL, refused: Refusal): Promise<void> {
  const host = withoutBrackets(url.hostname);
  const why = isIP(host) === 0 ? undefined : await refused(host);
  if (why !== undefined) throw new EgressFailure(`${url.host} ${why}`);
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}
