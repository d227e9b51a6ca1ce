/** A sign-in in the browser: its answer comes back to a socket of this machine that listens for it once. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CapstanError, messageOf, systemClock } from "@capstan/core";
import type { FetchLike } from "@modelcontextprotocol/client";
import type { McpServerConfig, McpTransport } from "../config/server-config.ts";
import { deadline } from "../connect/deadline.ts";
import { guardedFetch } from "../connect/guarded-fetch.ts";
import { clientSdk } from "../connect/sdk.ts";
import { MCP_LIMITS } from "../limits.ts";
import { FileProvider } from "./oauth-provider.ts";
import { forgetSignIn, readSignIn, type SignIn, writeSignIn } from "./sign-in-file.ts";

export type LoginOptions = {
  /** Private folder of the sign-ins. */
  readonly folder: string;
  /** Shows a person the page to sign in at. */
  readonly show: (page: URL) => void | Promise<void>;
  /** A client that was registered by hand. Default: this client registers itself. */
  readonly client?: { readonly id: string; readonly secret?: string };
  readonly clientMetadataUrl?: string;
  readonly scope?: string;
  /** Port that the browser comes back to, for a client registered by hand. Default: a free one. */
  readonly port?: number;
  readonly signal: AbortSignal;
};

/**
 * Signs in and keeps the tokens. Resolves with `already` when the tokens there are were still good or could be made new.
 * Throws `mcp-failed`, `usage`, and the reason of the signal.
 */
export async function loginMcp(server: McpServerConfig, options: LoginOptions): Promise<"signed-in" | "already"> {
  const { transport, name } = server;
  if (transport.type !== "http" && transport.type !== "sse") {
    throw new CapstanError("usage", `MCP server ${name} is a program on this machine: there is nothing to sign in to`);
  }
  const limit = deadline(systemClock, MCP_LIMITS.loginMs, options.signal, "nobody signed in in time");
  const callback = await callbackServer(options.port ?? 0);
  try {
    return await Promise.race([signIn(name, transport, options, callback), limit.reached]);
  } catch (error) {
    if (CapstanError.is(error) || options.signal.aborted) throw error;
    throw new CapstanError("mcp-failed", `The sign-in to ${name} failed: ${messageOf(error)}`, { cause: error });
  } finally {
    limit.end();
    await callback.close();
  }
}

type Remote = Extract<McpTransport, { readonly url: string }>;

async function signIn(
  name: string,
  { url, headers }: Remote,
  { folder, client, scope, clientMetadataUrl, show }: LoginOptions,
  callback: CallbackServer,
): Promise<"signed-in" | "already"> {
  const parts = { name, url, folder, onSecret: () => undefined, clientMetadataUrl }; // nothing is shown here
  const provider = new FileProvider({ ...parts, login: { redirectUrl: callback.url, show } });
  const secret = client?.secret === undefined ? {} : { client_secret: client.secret };
  const fresh: SignIn = { url, ...(client !== undefined && { client: { client_id: client.id, ...secret } }) };
  const { tokens, client: known, wanted } = await readSignIn(folder, url);
  const asksMore = tokens !== undefined && wanted !== undefined && wanted !== tokens.scope;
  const before =
    tokens === undefined || known === undefined || asksMore
      ? fresh
      : { ...fresh, client: fresh.client ?? known, tokens };
  await writeSignIn(folder, before);
  const { auth } = await clientSdk();
  const serverUrl = new URL(url);
  const fetchFn = guardedFetch(serverUrl);
  const challenge = await challengeOf(serverUrl, headers, fetchFn);
  const more = scope ?? wanted;
  const request = { serverUrl, fetchFn, ...challenge, ...(more !== undefined && { scope: more }) };
  if (before.tokens !== undefined) {
    const renewed = await auth(new FileProvider(parts), request).catch(() => "failed");
    if (renewed === "AUTHORIZED") return "already";
    await writeSignIn(folder, fresh); // one that registered itself did so for another port
  }
  if ((await auth(provider, request)) === "AUTHORIZED") return "already";
  const { state } = await readSignIn(folder, url);
  const answer = await callback.answer;
  if (state === undefined || answer.state !== state) {
    throw new CapstanError(
      "mcp-failed",
      `The sign-in to ${name} came back with another state than it was sent with; sign in again`,
    );
  }
  if (answer.code === undefined) {
    throw new CapstanError("mcp-failed", `The sign-in to ${name} was refused: ${answer.error ?? "no code came back"}`);
  }
  await auth(provider, {
    ...request,
    authorizationCode: answer.code,
    ...(answer.iss !== undefined && { iss: answer.iss }),
  });
  return "signed-in";
}

/** What the server says to somebody it does not know: where its sign-in is described, and what it wants. */
async function challengeOf(
  serverUrl: URL,
  headers: { readonly [name: string]: string },
  fetchFn: FetchLike,
): Promise<{ readonly resourceMetadataUrl?: URL; readonly scope?: string }> {
  const { extractWWWAuthenticateParams } = await clientSdk();
  const response = await fetchFn(serverUrl, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ping" }),
    signal: AbortSignal.timeout(MCP_LIMITS.authMs),
  });
  await response.body?.cancel();
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
  return { ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }), ...(scope !== undefined && { scope }) };
}

/** Removes what is kept of a sign-in. False when there was none. */
export function logoutMcp(server: McpServerConfig, folder: string): Promise<boolean> {
  const { transport } = server;
  return transport.type === "http" || transport.type === "sse"
    ? forgetSignIn(folder, transport.url)
    : Promise.resolve(false);
}

type CallbackAnswer = {
  readonly code?: string;
  readonly state?: string;
  readonly iss?: string;
  readonly error?: string;
};
type CallbackServer = { readonly url: string; readonly answer: Promise<CallbackAnswer>; close(): Promise<void> };

async function callbackServer(port: number): Promise<CallbackServer> {
  const { promise: answer, resolve } = Promise.withResolvers<CallbackAnswer>();
  const server = createServer({ requestTimeout: MCP_LIMITS.authMs }, (request, response) =>
    take(request, response, resolve),
  );
  server.maxConnections = 16;
  await new Promise<void>((listening, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", listening);
  });
  const { port: taken } = server.address() as AddressInfo; // it listens on a port
  return {
    url: `http://127.0.0.1:${taken}/callback`,
    answer,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

function take(request: IncomingMessage, response: ServerResponse, resolve: (answer: CallbackAnswer) => void): void {
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  if (request.method !== "GET" || url.pathname !== "/callback") {
    response.writeHead(404).end();
    return;
  }
  const value = (name: string): { readonly [name: string]: string } => {
    const found = url.searchParams.get(name);
    return found === null ? {} : { [name]: found };
  };
  response.writeHead(200, {
    "content-type": "text/plain; charset=utf-8",
    connection: "close",
    "x-content-type-options": "nosniff",
  });
  response.end("Capstan has it. You can close this page.", () =>
    resolve({ ...value("code"), ...value("state"), ...value("iss"), ...value("error") }),
  );
}
