/** The plugin that gives agents the tools of MCP servers. */

import { type Plugin, plugin, type Tool } from "@capstan/core";
import { lazyTools } from "./lazy-tools.ts";
import { McpClient, type McpClientOptions } from "./mcp-client.ts";
import { readingTools } from "./tools/reading-tools.ts";

export type McpOptions = McpClientOptions & {
  /** Name of the plugin, when an agent has two of them. Default `mcp`. */
  readonly name?: string;
  /** Connects when the runtime opens, in the background. Default: when the first run begins. */
  readonly eager?: boolean;
  /** Tools that let the model list and read what servers have beside tools. Default: none. */
  readonly reading?: { readonly resources?: boolean; readonly prompts?: boolean };
};
export type McpPlugin = Plugin & { readonly client: McpClient };

/** Longer than any server has to start: a server that hangs holds the first run up no longer than its own limit. */
const TOOLS_MS = 120_000;

/** Throws `config-invalid`. Its servers end with the last runtime that has it. */
export function mcp({ name = "mcp", eager = false, reading = {}, ...options }: McpOptions): McpPlugin {
  const client = new McpClient(options);
  /** Runtimes that are open: an agent may be given to several, one after the other or at once. */
  let users = 0;
  let shown: readonly Tool[] = [];
  /** Failures of servers that people were told of. */
  const told = new Map<string, string>();
  const isLazy = client.servers.some(({ disclosure }) => disclosure === "lazy");
  const made = plugin<readonly string[]>({
    name,
    timeoutMs: TOOLS_MS,
    async tools() {
      await client.connect();
      shown = [...client.tools(), ...readingTools(client, reading)];
      return isLazy ? [...shown, lazy.search] : shown;
    },
    input(message, context, next) {
      for (const { name: server, failure } of client.list()) {
        if (failure === undefined) told.delete(server);
        else if (told.get(server) !== failure) context.notice(`MCP server ${server} is not there`, failure);
        if (failure !== undefined) told.set(server, failure);
      }
      return next(message);
    },
    open(runtime) {
      client.onSecret((secret) => runtime.redactor.add(secret));
      if (eager) client.warmUp();
      users += 1;
      const close = async (): Promise<void> => {
        users -= 1;
        if (users === 0) await client.disconnect();
      };
      return { [Symbol.asyncDispose]: close };
    },
    ...(isLazy && { fold: { start: [], next: (own, fact) => lazy.next(own, fact) } }),
    ...(isLazy && { prepare: (_request, context) => lazy.prepare(context.own) }),
    ...(isLazy && { tool: (call, context, next) => lazy.gate(call, context, next) }),
  });
  const lazy = lazyTools(() => shown);
  return Object.freeze({ ...made, client });
}
