/** An MCP server over tools: lists them, checks arguments, runs them. Each is one effect; nobody is asked. */

import {
  CapstanError,
  check,
  type Json,
  messageOf,
  type Tool,
  type ToolContext,
  type ToolOutput,
  type Workspace,
} from "@capstan/core";
import type {
  CallToolResult,
  InputRequiredResult,
  ListToolsResult,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import { serverSdk } from "../connect/sdk.ts";
import { VERSION } from "../connect/version.ts";
import { MCP_LIMITS } from "../limits.ts";
import { toCallResult } from "./call-result.ts";

/** One thing a server offers. `call` gets arguments as the client sent them and settles with what it reads. */
export type Served = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Json;
  readonly outputSchema?: Json;
  readonly readOnly: boolean;
  call(input: Json, context: ServerContext, server: Server): Promise<CallToolResult | InputRequiredResult>;
};
export type ToolServerOptions = {
  readonly name: string;
  readonly tools: readonly Tool[];
  /** Where the tools act; without it those that need one fail. */
  readonly workspace?: Workspace;
};

/** Not connected yet. Throws `tool-invalid` for a tool that needs a run of its own. */
export async function serverOf({ name, tools, workspace }: ToolServerOptions): Promise<Server> {
  const served = tools.map((tool) => servedTool(tool, workspace));
  return servedBy(name, served);
}

/** Calls under way, of all connections that share it. */
export type CallGate = { running: number };

/** A server of these, in a fresh instance: one serves one connection. */
export async function servedBy(
  name: string,
  served: readonly Served[],
  gate: CallGate = { running: 0 },
): Promise<Server> {
  const { Server: SdkServer } = await serverSdk();
  const server = new SdkServer({ name, version: VERSION }, { capabilities: { tools: {} } });
  const known = new Map(served.map((one) => [one.name, one]));
  const tools = served.map((one) => ({
    name: one.name,
    description: one.description,
    inputSchema: one.inputSchema,
    ...(one.outputSchema !== undefined && { outputSchema: one.outputSchema }),
    annotations: { readOnlyHint: one.readOnly },
  }));
  server.setRequestHandler("tools/list", () => ({ tools }) as unknown as ListToolsResult); // their schemas are objects' schemas
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const one = known.get(params.name);
    if (one === undefined) return toCallResult(failure(`There is no tool ${JSON.stringify(params.name.slice(0, 80))}`));
    if (gate.running >= MCP_LIMITS.servedCalls)
      return toCallResult(failure("Too many calls at once; wait for one to end"));
    gate.running += 1;
    try {
      return await one.call((params.arguments ?? {}) as Json, context, server);
    } catch (error) {
      return toCallResult(failure(messageOf(error)));
    } finally {
      gate.running -= 1;
    }
  });
  return server;
}

/** A tool of one effect. What would ask a person is refused: the person at the client has already agreed, or nobody has. */
export function servedTool(tool: Tool, workspace: Workspace | undefined): Served {
  const { body } = tool;
  if (body.type !== "execute") {
    const message = `Tool ${tool.name} cannot be served by itself: it needs a run. Serve an agent that has it`;
    throw new CapstanError("tool-invalid", message);
  }
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: tool.inputSchema,
    readOnly: tool.rerun === "safe" && ["read", "search", "think", "fetch"].includes(tool.kind),
    async call(input, context) {
      const checked = await check(tool.schema, input);
      if (!checked.ok) return toCallResult(failure(`Wrong arguments for ${tool.name}: ${checked.problem}`));
      const word = typeof tool.permission === "function" ? tool.permission(checked.value) : tool.permission;
      if (word === "deny" || word === "ask")
        return toCallResult(failure(`${tool.name} refuses this input: nobody can be asked here`));
      const result = await body.execute(checked.value, toolContextOf(context, workspace));
      return toCallResult(outputOf(result));
    },
  };
}

/** A tool's return value of any allowed kind, as an output. */
function outputOf(result: unknown): ToolOutput {
  if (result === undefined || result === null) return { content: [{ type: "text", text: "Done." }] };
  if (typeof result === "string") return { content: [{ type: "text", text: result }] };
  if (typeof result === "object" && "content" in result && Array.isArray(result.content)) return result as ToolOutput; // its type says so
  return { content: [{ type: "text", text: JSON.stringify(result) }], output: result as Json };
}

function failure(message: string): ToolOutput {
  return { content: [{ type: "text", text: message }], isError: true };
}

function toolContextOf({ mcpReq, http }: ServerContext, workspace: Workspace | undefined): ToolContext {
  const callId = `mcp-${String(mcpReq.id)}`;
  return {
    callId,
    runId: callId,
    depth: 0,
    attempt: 1,
    idempotencyKey: callId,
    signal: mcpReq.signal,
    get workspace(): Workspace {
      if (workspace !== undefined) return workspace;
      throw new CapstanError("workspace-missing", "This server was given no workspace");
    },
    session: { id: callId, metadata: {} },
    actor: { id: "mcp", door: http === undefined ? "mcp-stdio" : "mcp-http" },
    progress: progressOf(mcpReq),
  };
}

/** Tells a client that asked for it; a client that went away is told nothing. */
function progressOf({ _meta, notify }: ServerContext["mcpReq"]): ToolContext["progress"] {
  const token = _meta?.progressToken;
  if (token === undefined) return () => undefined;
  let count = 0;
  return ({ progress, total, message }) => {
    count = Math.max(count + 1, progress ?? 0); // it must grow
    const params = {
      progressToken: token,
      progress: progress ?? count,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    };
    notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}
