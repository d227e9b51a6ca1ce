/** The handler behind a socket of Node. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { mcpHandler, type McpHandler, type McpHandlerOptions } from "./serve-mcp.ts";

export type ListenOptions = McpHandlerOptions & {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: a free one. */
  readonly port?: number;
  /** Default `/mcp`. */
  readonly path?: string;
};
export type ListeningMcp = AsyncDisposable & { readonly url: string; close(): Promise<void> };

const HEADERS_MS = 10_000;
const REQUEST_MS = 60_000;
const MAX_CONNECTIONS = 1_024;

/** Rejects when the address is taken. */
export async function listenMcp(options: ListenOptions): Promise<ListeningMcp> {
  const { host = "127.0.0.1", port = 0, path = "/mcp", ...rest } = options;
  const handler = await mcpHandler(rest);
  const server = createServer({ headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS }, (request, response) => {
    void answer(handler, path, request, response);
  });
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const close = async (): Promise<void> => {
    await handler.close();
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  const { port: taken } = server.address() as AddressInfo; // it listens on a port
  const shown = host.includes(":") ? `[${host}]` : host;
  return { url: `http://${shown}:${taken}${path}`, close, [Symbol.asyncDispose]: close };
}

async function answer(
  handler: McpHandler,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  try {
    const web = toRequest(request, gone.signal);
    if (web === undefined || new URL(web.url).pathname !== path) {
      response.writeHead(web === undefined ? 400 : 404).end();
      return;
    }
    const { status, headers, body } = await handler(web);
    response.writeHead(status, Object.fromEntries(headers));
    response.flushHeaders();
    if (body === null) response.end();
    else await pipeline(Readable.fromWeb(body as ReadableStream), response);
  } catch {
    if (!response.headersSent) response.writeHead(500);
    response.end(); // a client that went away, or a failure nobody could answer better
  }
}

/** Undefined for what is no request of the web, such as a method that none may have, or one that names two hosts. */
function toRequest(request: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = "GET", url = "/", headers } = request;
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
  if (hosts.length > 1 || !/^\/(?!\/)/.test(url)) return undefined; // a host in the URL would be another than the one that is checked
  try {
    const given = new Headers();
    for (const [name, value] of Object.entries(headers)) {
      for (const one of Array.isArray(value) ? value : [value ?? ""]) given.append(name, one);
    }
    const withBody = method !== "GET" && method !== "HEAD";
    const body = withBody
      ? { body: Readable.toWeb(request) as ReadableStream<Uint8Array>, duplex: "half" as const }
      : {};
    return new Request(new URL(url, `http://${headers.host ?? "localhost"}`), {
      method,
      headers: given,
      signal,
      ...body,
    });
  } catch {
    return undefined;
  }
}
