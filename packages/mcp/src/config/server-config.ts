/** What there is to say about one MCP server, after any common shape of configuration was read. */

import type { InProcessServer } from "../serve/in-process.ts";

export type McpTransport =
  | {
      readonly type: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      /** Beside the allow-listed values of this process; see `strictEnv`. */
      readonly env: { readonly [name: string]: string };
      /** The server gets `env` and nothing of this process. */
      readonly strictEnv: boolean;
      readonly cwd?: string;
    }
  | { readonly type: "http" | "sse"; readonly url: string; readonly headers: { readonly [name: string]: string } }
  | { readonly type: "in-process"; readonly server: InProcessServer };

/** A tool as its server describes it. None of it is to be trusted. */
export type RemoteTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
  readonly outputSchema?: unknown;
  readonly annotations: { readonly readOnly: boolean; readonly idempotent: boolean };
};

export type ToolView = {
  /** Names at the server; only these are offered. Not together with `deny`. */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  /** After the lists. A filter that throws drops the tool. */
  readonly filter?: (tool: RemoteTool) => boolean;
};

/**
 * Called before every operation on a server. Nothing: the connection is good. A change: a connection with these members
 * in place of the configured ones takes its place. When it throws, the old one stays.
 */
export type Refresher = (context: { readonly signal: AbortSignal }) => Promise<Refreshed | undefined>;
export type Refreshed = {
  readonly url?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly env?: { readonly [name: string]: string };
};

export type McpServerConfig = {
  /** `[A-Za-z][A-Za-z0-9.-]*`, underscores inside: part of every tool's name. */
  readonly name: string;
  readonly transport: McpTransport;
  readonly enabled: boolean;
  readonly timeouts: { readonly bootstrapMs: number; readonly callMs: number };
  readonly tools: ToolView;
  /** `lazy`: the model sees names and descriptions, and asks `tool_search` for the rest. */
  readonly disclosure: "eager" | "lazy";
  /** Whether what the server says of its tools (read-only, idempotent) counts: such calls may be sent twice. */
  readonly trustHints: boolean;
  readonly refresh?: Refresher;
};

export const CONFIG_PROBLEMS = [
  "shape-unknown",
  "name-invalid",
  "name-repeated",
  "transport-unknown",
  "field-invalid",
  "field-ignored",
  "variable-missing",
  "too-many",
] as const;
export type ConfigProblem = {
  readonly code: (typeof CONFIG_PROBLEMS)[number];
  readonly server?: string;
  /** What is wrong and what to do; holds no values of headers or variables. */
  readonly message: string;
  /** The server is left out because of it. */
  readonly fatal: boolean;
};
