/** What servers have beside tools, for the model to read: resources by URI, prompts by name. */

import {
  type FlowContext,
  flowTool,
  type Json,
  jsonSchema,
  messageOf,
  type Tool,
  type ToolOutput,
  text,
  textOutput,
} from "@capstan/core";
import { canonicalName } from "../config/server-name.ts";
import { MCP_LIMITS } from "../limits.ts";
import type { McpClient } from "../mcp-client.ts";
import { originOf, partOf, resourcePart } from "./read-result.ts";
import { shownError } from "../visible-text.ts";

/** For each connected server that has some. A tool of the server's own with that name comes first. */
export function readingTools(
  client: McpClient,
  { resources = false, prompts = false }: { readonly resources?: boolean; readonly prompts?: boolean },
): readonly Tool[] {
  return client.list().flatMap(({ name, tools }) => {
    const made: Tool[] = [];
    if (resources && client.offers(name, "resources") && !tools.includes("resources"))
      made.push(resourceTool(client, name));
    if (prompts && client.offers(name, "prompts") && !tools.includes("prompts")) made.push(promptTool(client, name));
    return made;
  });
}

function resourceTool(client: McpClient, server: string): Tool {
  return flowTool({
    name: canonicalName(server, "resources"),
    description: `Reads a resource of the MCP server ${server} by its URI, or lists the resources when no URI is given.`,
    kind: "read",
    input: jsonSchema<{ readonly uri?: string }>({
      type: "object",
      properties: { uri: { type: "string", maxLength: 2_048 } },
      additionalProperties: false,
    }),
    flow: ({ uri }, context) =>
      reading(context, server, async (signal) => {
        if (uri === undefined) {
          const found = await client.resources(server, signal);
          const lines = found
            .slice(0, MCP_LIMITS.toolsPerServer)
            .map(
              (one) =>
                `${one.uri}: ${one.title ?? one.name}${one.description === undefined ? "" : `, ${one.description}`}`,
            );
          return textOutput(lines.join("\n") || "There are none.");
        }
        const { contents } = await client.readResource(server, uri, signal);
        return { content: contents.slice(0, MCP_LIMITS.resultParts).map((one) => resourcePart(one)) };
      }),
  });
}

function promptTool(client: McpClient, server: string): Tool {
  return flowTool({
    name: canonicalName(server, "prompts"),
    description: `Reads a prompt of the MCP server ${server} by its name, or lists the prompts when no name is given.`,
    kind: "read",
    input: jsonSchema<{ readonly name?: string; readonly arguments?: { readonly [name: string]: string } }>({
      type: "object",
      properties: {
        name: { type: "string", maxLength: 256 },
        arguments: { type: "object", additionalProperties: { type: "string" } },
      },
      additionalProperties: false,
    }),
    flow: (input, context) =>
      reading(context, server, async (signal) => {
        if (input.name === undefined) {
          const found = await client.prompts(server, signal);
          const lines = found
            .slice(0, MCP_LIMITS.toolsPerServer)
            .map((one) => `${one.name}: ${one.description ?? one.title ?? ""}`);
          return textOutput(lines.join("\n") || "There are none.");
        }
        const { messages } = await client.prompt(server, input.name, input.arguments, signal);
        const parts = messages
          .slice(0, MCP_LIMITS.resultParts)
          .flatMap(({ role, content }) => [text(`${role}:`), partOf(content)]);
        return { content: parts };
      }),
  });
}

async function reading(
  context: FlowContext,
  server: string,
  read: (signal: AbortSignal) => Promise<ToolOutput>,
): Promise<ToolOutput> {
  const output = await context.step("read", { rerun: "safe" }, async ({ signal }) => {
    try {
      return { ...(await read(signal)), labels: originOf(server) } as unknown as Json; // plain data
    } catch (error) {
      signal.throwIfAborted();
      const said = `${server} did not give it: ${shownError(messageOf(error), MCP_LIMITS.errorChars)}`;
      return { ...textOutput(said, { isError: true }), labels: originOf(server) } as unknown as Json;
    }
  });
  return output as unknown as ToolOutput; // written above
}
