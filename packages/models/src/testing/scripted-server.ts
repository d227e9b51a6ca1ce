/** A scripted HTTP server of a provider on the loopback: it checks what comes, answers by script, and breaks when told to. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** How the bytes of an answer travel. */
export type Delivery = {
  /** Size of one piece; between pieces the server lets others run. Default: all at once. */
  readonly chunkBytes?: number;
  /** The connection breaks after this many bytes of the body. */
  readonly cutAfterBytes?: number;
  /** Silence after this many bytes of the body, until the promise resolves. */
  readonly stall?: { readonly afterBytes: number; readonly until: Promise<unknown> };
};

/** An answer that is no stream. */
export type PlainReply = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON when it is not a string. Default: an error of the status in the provider's words. */
  readonly body?: unknown;
  readonly delivery?: Delivery;
};

export type RecordedRequest = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body's text as it came. */
  readonly text: string;
  readonly body: { readonly [name: string]: unknown };
};

/** A list of answers in order, or a function of the request and its number, from 0. */
export type Script<Reply, Request extends RecordedRequest = RecordedRequest> =
  | readonly Reply[]
  | ((request: Request, index: number) => Reply | Promise<Reply>);

export interface ScriptedServer<Request extends RecordedRequest = RecordedRequest> extends AsyncDisposable {
  /** The base URL. */
  readonly url: string;
  readonly requests: readonly Request[];
  /** What the API would have refused; each was answered with 400. */
  readonly violations: readonly string[];
  /** Connections that were opened so far. */
  readonly connections: number;
  /** Breaks what is open. May be called twice. */
  close(): Promise<void>;
}

/** The provider's side: `Stream` is what its script calls an answer that streams. */
export type ScriptedProvider<Stream extends object, Request extends RecordedRequest = RecordedRequest> = {
  readonly script: Script<(Stream & { readonly delivery?: Delivery }) | PlainReply, Request>;
  /** What the API would refuse in this request. */
  readonly check: (request: RecordedRequest) => readonly string[];
  /** Called once for a request that passed, with its number. */
  readonly record: (request: RecordedRequest) => Request;
  /** The bytes of a streamed answer to the request with this number. */
  readonly stream: (reply: Stream, request: Request, index: number) => Buffer;
  /** The body of an error as the API sends it. */
  readonly error: (status: number, message: string) => unknown;
  /** Default: an event stream. */
  readonly contentType?: string;
};

/** Listens on a free port of 127.0.0.1. The caller closes it. */
export async function scriptedServer<Stream extends object, Request extends RecordedRequest>(
  provider: ScriptedProvider<Stream, Request>,
): Promise<ScriptedServer<Request>> {
  const requests: Request[] = [];
  const violations: string[] = [];
  const server = createServer((incoming, response) => {
    answer(provider, { requests, violations }, incoming, response).catch((error: unknown) => {
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

async function answer<Stream extends object, Request extends RecordedRequest>(
  provider: ScriptedProvider<Stream, Request>,
  seen: { readonly requests: Request[]; readonly violations: string[] },
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const text = await bodyText(incoming);
  const { url: path = "", headers, method = "" } = incoming;
  const { answered, delivery } = await answerTo(provider, seen, { path, headers, text, method });
  return deliver(response, answered, delivery);
}

/** What came, whole. */
export type Incoming = Pick<RecordedRequest, "path" | "headers" | "text"> & { readonly method: string };
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
};

/** Checks and records one request and takes its answer from the script. */
export async function answerTo<Stream extends object, Request extends RecordedRequest>(
  provider: ScriptedProvider<Stream, Request>,
  seen: { readonly requests: Request[]; readonly violations: string[] },
  { method, ...incoming }: Incoming,
): Promise<{ readonly answered: Answer; readonly delivery?: Delivery | undefined }> {
  const request = { ...incoming, body: parsed(incoming.text) };
  const problems = [...provider.check(request), ...(method === "POST" ? [] : ["only POST is known"])];
  if (problems.length > 0) {
    seen.requests.push(request as Request); // a refused request has no more than this
    seen.violations.push(...problems);
    return { answered: json(400, provider.error(400, problems.join("; "))) };
  }
  const recorded = provider.record(request);
  const index = seen.requests.push(recorded) - 1;
  const { script } = provider;
  const reply = typeof script === "function" ? await script(recorded, index) : script[index];
  if (reply === undefined) throw new Error(`there is no answer number ${index}`);
  const { delivery } = reply;
  if (isPlain(reply)) {
    const { status, headers, body = provider.error(status, `status ${status}`) } = reply;
    return { answered: json(status, body, headers), delivery };
  }
  const contentType = provider.contentType ?? "text/event-stream; charset=utf-8";
  const bytes = provider.stream(reply, recorded, index);
  return { answered: { status: 200, headers: { "content-type": contentType }, bytes }, delivery };
}

function isPlain(reply: object): reply is PlainReply {
  return "status" in reply;
}

function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return { status, headers: { "content-type": "application/json", ...headers }, bytes };
}

async function deliver(response: ServerResponse, answered: Answer, delivery: Delivery | undefined): Promise<void> {
  const { bytes } = answered;
  response.writeHead(answered.status, { "request-id": "req_scripted", ...answered.headers });
  const { chunkBytes = bytes.length, cutAfterBytes = Infinity, stall } = delivery ?? {};
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
