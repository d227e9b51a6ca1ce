/** Which of a server's tools are offered: lists, predicate, hook, and what could not be offered anyway. */

import { messageOf, type Json } from "@capstan/core";
import type { McpServerConfig, RemoteTool } from "../config/server-config.ts";
import { isToolName } from "../config/server-name.ts";
import { MCP_LIMITS } from "../limits.ts";
import { type McpHooks, timeLimited } from "../mcp-hooks.ts";
import { readSchema } from "./remote-schema.ts";
import { visibleText } from "../visible-text.ts";

/** A tool that can be offered: its name is legal, its schema is read. */
export type OfferedTool = Omit<RemoteTool, "inputSchema" | "outputSchema"> & {
  readonly inputSchema: Json;
  readonly outputSchema?: Json;
};
export type ViewedTools = { readonly tools: readonly OfferedTool[]; readonly problems: readonly string[] };

/** Never throws: a predicate or hook that fails hides what it was asked about. */
export async function viewTools(
  server: McpServerConfig,
  found: readonly RemoteTool[],
  filterTools: McpHooks["filterTools"],
): Promise<ViewedTools> {
  const problems: string[] = [];
  const { allow, deny, filter } = server.tools;
  const listed = found.filter(({ name }) => (allow?.includes(name) ?? true) && deny?.includes(name) !== true);
  const kept = listed.filter((tool) => passes(filter, tool, problems));
  const hooked = await throughHook(server, kept, filterTools, problems);
  const seen = new Set<string>();
  const tools = hooked.flatMap((tool) => {
    const offered = offer(tool, seen, problems);
    if (offered !== undefined) seen.add(tool.name);
    return offered ?? [];
  });
  return { tools, problems };
}

function passes(filter: ((tool: RemoteTool) => boolean) | undefined, tool: RemoteTool, problems: string[]): boolean {
  if (filter === undefined) return true;
  try {
    return filter(tool) === true;
  } catch (error) {
    problems.push(`The filter failed on ${shown(tool.name)}: ${messageOf(error)}`);
    return false;
  }
}

async function throughHook(
  { name, transport }: McpServerConfig,
  tools: readonly RemoteTool[],
  filterTools: McpHooks["filterTools"],
  problems: string[],
): Promise<readonly RemoteTool[]> {
  if (filterTools === undefined) return tools;
  try {
    const given = await timeLimited(() => filterTools({ server: name, transport: transport.type, tools }));
    const known = new Map(tools.map((tool) => [tool.name, tool]));
    return given.flatMap((tool) => known.get(tool.name) ?? []); // it may leave out and order, not make up
  } catch (error) {
    problems.push(`The hook filterTools failed, so that none is offered: ${messageOf(error)}`);
    return [];
  }
}

function offer(tool: RemoteTool, seen: ReadonlySet<string>, problems: string[]): OfferedTool | undefined {
  const refuse = (why: string): undefined => void problems.push(`${shown(tool.name)} is not offered: ${why}`);
  if (!isToolName(tool.name)) return refuse("its name has characters that no rule could name");
  if (seen.has(tool.name)) return refuse("there is one of that name already");
  const input = readSchema(tool.inputSchema);
  if (input.problem !== undefined) return refuse(input.problem);
  const output = tool.outputSchema === undefined ? undefined : readSchema(tool.outputSchema);
  return {
    name: tool.name,
    description: visibleText(tool.description.slice(0, MCP_LIMITS.descriptionChars)),
    inputSchema: input.schema,
    annotations: tool.annotations,
    ...(output !== undefined && output.problem === undefined && { outputSchema: output.schema }),
  };
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}
