/** Agents and tools as an MCP server, over stdio and over Streamable HTTP, for clients of every revision. */

import type { Readable, Writable } from "node:stream";
import type { Actor, Agent, Runtime, Tool, Workspace } from "@capstan/core";
import { CapstanError } from "@capstan/core";
import type { Server } from "@modelcontextprotocol/server";
import { serverSdk, serverStdioSdk } from "../connect/sdk.ts";
import { MCP_LIMITS } from "../limits.ts";
import { servedAgent } from "./served-agent.ts";
import { type CallGate, type Served, servedBy, servedTool } from "./tool-server.ts";

export type ServeMcpOptions = {
  /** What the server calls itself. Default `capstan`. */
  readonly name?: string;
  /** Drives the agents; not closed by the server. */
  readonly runtime?: Runtime;
  readonly agents?: readonly Agent<unknown>[];
  /** Folder that their new sessions work in. */
  readonly folder?: string;
  /** Tools of one effect, run without an agent. Whoever may call the server may call them. */
  readonly tools?: readonly Tool[];
  /** Where those tools act. */
  readonly workspace?: Workspace;
};
export type McpStdioOptions = ServeMcpOptions & {
  /** Default: the standard streams of this process. */
  readonly input?: Readable;
  readonly output?: Writable;
};
export type McpHandlerOptions = ServeMcpOptions & {
  /** Who asks; `null` refuses. Called for every request, on this machine too. */
  readonly authorize: (request: Request) => Promise<Actor | null> | Actor | null;
  /** Names in the Host header under which this server may be reached. Default: this machine's. */
  readonly hosts?: readonly string[];
  /** Hosts of web pages that may ask. Default: this machine's. */
  readonly origins?: readonly string[];
  /** URL of the OAuth metadata of this server (RFC 9728), told to clients that are refused. */
  readonly resourceMetadata?: string;
};
export type McpHandler = ((request: Request) => Promise<Response>) & { close(): Promise<void> };
export type McpStdio = { readonly ended: Promise<void>; close(): Promise<void> };

/**
 * Serves one client over standard input and output; nothing else may write there. Ends with the input, when nobody reads
 * any more, and at a message that is too large. Throws `tool-invalid`, `config-invalid`.
 */
export async function serveMcp({
  input = process.stdin,
  output = process.stdout,
  ...options
}: McpStdioOptions): Promise<McpStdio> {
  const serving = servingOf(options);
  const { serveStdio, StdioServerTransport } = await serverStdioSdk();
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const transport = new StdioServerTransport(input, output, { maxBufferSize: MCP_LIMITS.requestBytes });
  const close = transport.close.bind(transport);
  transport.close = () => close().finally(resolve); // it closes itself when the pipes break
  const handle = serveStdio(() => serving.server({ id: "mcp", door: "mcp-stdio" }), {
    transport,
    onerror: () => undefined,
  });
  for (const name of ["end", "close"] as const) input.once(name, () => resolve());
  return {
    ended,
    async close() {
      await handle.close();
      resolve();
    },
  };
}

/** A handler of web requests, for any server or framework. Throws `tool-invalid`, `config-invalid`. */
export async function mcpHandler(given: McpHandlerOptions): Promise<McpHandler> {
  const { authorize, hosts, origins, resourceMetadata, ...options } = given;
  const challenge = resourceMetadata === undefined ? "Bearer" : `Bearer resource_metadata="${resourceMetadata}"`;
  const serving = servingOf(options);
  const sdk = await serverSdk();
  const allowedHosts = hosts === undefined ? sdk.localhostAllowedHostnames() : [...hosts];
  const allowedOrigins = origins === undefined ? sdk.localhostAllowedOrigins() : [...origins];
  const inner = sdk.createMcpHandler((context) => serving.server(actorIn(context.authInfo?.extra)), {
    maxRequestBodySize: MCP_LIMITS.requestBytes,
    maxSubscriptions: MCP_LIMITS.servedCalls,
    onerror: () => undefined,
  });
  const handle = async (request: Request): Promise<Response> => {
    const refused =
      sdk.hostHeaderValidationResponse(request, allowedHosts) ?? sdk.originValidationResponse(request, allowedOrigins);
    if (refused !== undefined) return refused;
    const actor = await permitted(authorize, request);
    if (actor === null)
      return new Response("Unauthorized", { status: 401, headers: { "WWW-Authenticate": challenge } });
    return inner.fetch(request, { authInfo: { token: "", clientId: actor.id, scopes: [], extra: { actor } } });
  };
  return Object.assign(handle, { close: () => inner.close() });
}

async function permitted(authorize: McpHandlerOptions["authorize"], request: Request): Promise<Actor | null> {
  try {
    return await authorize(request);
  } catch {
    return null; // who cannot be checked is not let in
  }
}

function actorIn(extra: { readonly [name: string]: unknown } | undefined): Actor {
  const actor = extra?.["actor"];
  if (actor === undefined) throw new Error("a request without an actor"); // `mcpHandler` sets it
  return actor as Actor;
}

type Serving = { server(actor: Actor): Promise<Server> };

function servingOf({
  name = "capstan",
  runtime,
  agents = [],
  folder,
  tools = [],
  workspace,
}: ServeMcpOptions): Serving {
  if (agents.length > 0 && runtime === undefined) {
    throw new CapstanError("config-invalid", "Agents need a runtime to be served: give `runtime`");
  }
  const own = tools.map((tool) => servedTool(tool, workspace));
  const gate: CallGate = { running: 0 };
  const served = (actor: Actor): readonly Served[] => [
    ...(runtime === undefined ? [] : agents.map((agent) => servedAgent(runtime, agent, actor, folder))),
    ...own,
  ];
  const names = served({ id: "mcp", door: "mcp" }).map((one) => one.name);
  const twice = names.find((one, index) => names.indexOf(one) !== index);
  if (twice !== undefined) throw new CapstanError("config-invalid", `Two of what is served are named ${twice}`);
  return { server: (actor) => servedBy(name, served(actor), gate) };
}
