/** Hooks around what happens with MCP servers, beside those of the loop: nearer to the server, with its own names. */

import { CapstanError, type Json, sleep, systemClock, type ToolOutput } from "@capstan/core";
import type { McpTransport, RemoteTool } from "./config/server-config.ts";
import { MCP_LIMITS } from "./limits.ts";

export type McpCall = {
  readonly server: string;
  /** Its name at the server. */
  readonly tool: string;
  /** `mcp:server/tool`. */
  readonly name: string;
  readonly input: Json;
  readonly callId: string;
  readonly runId: string;
};
export type McpHooks = {
  /** Before a call is sent: refuses it, or answers in the server's place. Nothing: it is sent. */
  readonly beforeCall?: (call: McpCall) => Promise<BeforeCall | void> | BeforeCall | void;
  /** What the model is to read instead. Nothing: what the server said. */
  readonly afterCall?: (call: McpCall, output: ToolOutput) => Promise<ToolOutput | void> | ToolOutput | void;
  /** Told of a call that could not be made or that broke. */
  readonly onCallError?: (call: McpCall, message: string) => void;
  /** Which tools are offered, in what order. It cannot add any. */
  readonly filterTools?: (found: {
    readonly server: string;
    readonly transport: McpTransport["type"];
    readonly tools: readonly RemoteTool[];
  }) => Promise<readonly RemoteTool[]> | readonly RemoteTool[];
  /** A hook that fails refuses the call, withholds the output, offers no tool. `ignore`: as if it were not there. */
  readonly onFailure?: "refuse" | "ignore";
};
export type BeforeCall = { readonly deny: string } | { readonly answer: string | ToolOutput };

/** Names that other systems have for the same moments, without case and punctuation. */
const ALIASES: { readonly [name: string]: keyof McpHooks | "onEvent" } = {
  mcptoolgate: "beforeCall",
  mcptoolbefore: "beforeCall",
  mcptoolafter: "afterCall",
  mcptooltransform: "afterCall",
  mcptoolerror: "onCallError",
  mcptoolsfilter: "filterTools",
  mcpconnect: "onEvent",
  mcperror: "onEvent",
  mcpclose: "onEvent",
  mcpbootstrapstart: "onEvent",
  mcpbootstrapend: "onEvent",
};

/** The hook, or the option `onEvent`, that a name such as `mcp:tool:gate` stands for. */
export function mcpHookName(name: string): keyof McpHooks | "onEvent" | undefined {
  const key = name.toLowerCase().replaceAll(/[^a-z]/g, "");
  return Object.hasOwn(ALIASES, key) ? ALIASES[key] : undefined;
}

/** Rejects with `hook-failed` after `MCP_LIMITS.hookMs`. */
export async function timeLimited<T>(work: () => Promise<T> | T): Promise<T> {
  const done = new AbortController();
  const late = sleep(systemClock, MCP_LIMITS.hookMs, done.signal).then(() => {
    throw new CapstanError("hook-failed", `An MCP hook took longer than ${MCP_LIMITS.hookMs} ms`);
  });
  late.catch(() => undefined); // the work was in time
  try {
    return await Promise.race([Promise.resolve().then(work), late]);
  } finally {
    done.abort();
  }
}
