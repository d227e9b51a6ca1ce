/** The broker's server: takes a request of a program, adds the secret, and hands the answer back without it. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { redactor, type Redactor } from "@capstan/core";
import { EgressFailure, guardedRequest } from "../egress/guarded-request.ts";
import { refusePrivate } from "../egress/public-address.ts";
import { isAllowed } from "./allowed-path.ts";
import { BROKER_LIMITS as LIMITS } from "./limits.ts";
import { returnedHeaders, sentHeaders } from "./proxy-headers.ts";
import { secretsIn, type SecretHeaders, type Service } from "./service.ts";

/** What a run may use, found by the token in its addresses. */
export type Caller = {
  /** Told of each request when it has ended, or was refused. */
  readonly note: (request: {
    readonly service: string;
    readonly method: string;
    readonly path: string;
    readonly status: number;
  }) => void;
};
export type ProxyOptions = {
  readonly services: ReadonlyMap<string, Service>;
  /** Undefined for a token that is not in use. */
  readonly caller: (token: string) => Caller | undefined;
  /** Told of secrets before they are used. */
  readonly learn: (secrets: readonly string[]) => void;
};

/** A server that listens nowhere yet. */
export function brokerProxy(options: ProxyOptions): Server {
  const serving: Serving = { ...options, hidden: redactor([]), known: new Set() };
  const server = createServer(
    { requestTimeout: LIMITS.totalMs, headersTimeout: LIMITS.headMs },
    (request, response) => {
      void answer(request, response, serving);
    },
  );
  server.maxConnections = LIMITS.connections;
  server.on("clientError", (_error, socket) => socket.destroy());
  for (const event of ["upgrade", "connect"] as const)
    server.on(event, (_request: IncomingMessage, socket: { destroy(): void }) => socket.destroy());
  return server;
}

type Serving = ProxyOptions & { readonly hidden: Redactor; readonly known: Set<string> };

const TARGET = /^\/([^/?]+)\/([^/?]+)(\/[^?]*)?(\?[!-~]*)?$/;

async function answer(request: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  const [, token = "", name = "", path = "/", query = ""] = TARGET.exec(request.url ?? "") ?? [];
  const caller = serving.caller(token);
  const service = serving.services.get(name);
  if (caller === undefined || service === undefined) return say(response, 404, "There is no such service here");
  const { method = "" } = request;
  const end = (status: number): void =>
    caller.note({
      service: name,
      method,
      path: serving.hidden.text(path).slice(0, LIMITS.notedPathCharacters),
      status,
    });
  if (!isAllowed(service.allow, method, path)) {
    end(403);
    return say(response, 403, `${method} ${path} is not among what may be asked of ${name}`);
  }
  const stop = new AbortController();
  response.on("close", () => stop.abort(new EgressFailure("the program left")));
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(LIMITS.totalMs)]);
  try {
    const secret = await secretOf(service, serving);
    const reply = await forwarded(request, service, { path: path + query, secret, signal });
    const own = `http://${request.headers.host ?? "127.0.0.1"}/${token}/${name}`;
    await handBack(reply, response, { own, base: service.base, hidden: serving.hidden });
    end(reply.statusCode ?? 0);
  } catch (error) {
    end(502);
    const why = error instanceof EgressFailure ? error.message : "it could not be reached";
    if (response.headersSent) response.destroy();
    else say(response, 502, `${name} gave no answer: ${serving.hidden.text(why)}`);
  }
}

/** Nobody hears of a failure to make them: its message may hold what they are made of. */
async function secretOf({ headers, name }: Service, { learn, hidden, known }: Serving): Promise<SecretHeaders> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = AbortSignal.timeout(LIMITS.headersMs);
  timer.addEventListener("abort", () => reject(new Error("late")), { once: true });
  let made: SecretHeaders;
  try {
    made = await Promise.race([Promise.resolve().then(headers), late]);
  } catch {
    throw new EgressFailure(`the credentials of ${name} could not be had`);
  }
  const secrets = secretsIn(made).filter((secret) => !known.has(secret));
  for (const secret of secrets) {
    known.add(secret);
    hidden.add(secret);
  }
  learn(secrets);
  return made;
}

type Forwarding = { readonly path: string; readonly secret: SecretHeaders; readonly signal: AbortSignal };

async function forwarded(
  request: IncomingMessage,
  { base, allowPrivate }: Service,
  { path, secret, signal }: Forwarding,
): Promise<IncomingMessage> {
  const { method = "", headers } = request;
  const length = headers["content-length"];
  if (Number(length ?? 0) > LIMITS.requestBytes) throw new EgressFailure("the request is too large");
  const hasBody = length !== undefined || headers["transfer-encoding"] !== undefined;
  const reply = await guardedRequest({
    method,
    url: new URL(base + path),
    headers: { ...sentHeaders(headers, secret), ...(hasBody && length !== undefined && { "content-length": length }) },
    ...(hasBody && { body: request.pipe(bounded(LIMITS.requestBytes, "the request")) }),
    idleMs: LIMITS.idleMs,
    refused: allowPrivate === true ? () => undefined : refusePrivate,
    signal,
  });
  const encoding = reply.headers["content-encoding"] ?? "identity";
  if (encoding === "identity") return reply;
  reply.destroy();
  throw new EgressFailure("it answered in an encoding that was not asked for");
}

async function handBack(
  reply: IncomingMessage,
  response: ServerResponse,
  { own, base, hidden }: { readonly own: string; readonly base: string; readonly hidden: Redactor },
): Promise<void> {
  const headers = returnedHeaders(reply.headers, { base, own, clean: (text) => hidden.text(text) });
  response.writeHead(reply.statusCode ?? 502, headers);
  await pipeline(reply, bounded(LIMITS.responseBytes, "the answer"), withoutSecrets(hidden), response);
}

function bounded(maxBytes: number, what: string): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(new EgressFailure(`${what} is too large`));
      else done(null, chunk);
    },
  });
}

/** Every byte stands for a character, so that what is no text passes as it is. */
function withoutSecrets(hidden: Redactor): Transform {
  const stream = hidden.stream();
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) =>
      done(null, Buffer.from(stream.push(chunk.toString("latin1")), "latin1")),
    flush: (done) => done(null, Buffer.from(stream.end(), "latin1")),
  });
}

function say(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify({ error }));
}
