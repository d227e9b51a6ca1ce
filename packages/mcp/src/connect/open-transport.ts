/** The transport to a configured server. */

import type { Clock } from "@capstan/core";
import type { AuthProvider, OAuthClientProvider, Transport } from "@modelcontextprotocol/client";
import type { McpTransport } from "../config/server-config.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import { GuardedTransport } from "./guarded-transport.ts";
import { clientSdk } from "./sdk.ts";
import { StdioTransport } from "./stdio-transport.ts";

/** Signs requests to one server; of the SDK's two kinds. */
export type ServerAuth = AuthProvider | OAuthClientProvider;
export type OpenTransport = Transport & { readonly fault?: string | undefined; readonly stderr?: string };
export type TransportParts = { readonly clock: Clock; readonly auth?: ServerAuth | undefined };

/** Not started yet. */
export async function openTransport(config: McpTransport, { clock, auth }: TransportParts): Promise<OpenTransport> {
  switch (config.type) {
    case "stdio":
      return process.platform === "win32" ? windowsTransport(config) : new StdioTransport(config, clock);
    case "http":
    case "sse": {
      const { StreamableHTTPClientTransport, SSEClientTransport } = await clientSdk();
      const url = new URL(config.url);
      const options = {
        fetch: guardedFetch(url),
        requestInit: { headers: { ...config.headers } },
        ...(auth !== undefined && { authProvider: auth }),
      };
      const inner =
        config.type === "http" ? new StreamableHTTPClientTransport(url, options) : new SSEClientTransport(url, options);
      return new GuardedTransport(inner as Transport, clock); // their optional members say `undefined` differently
    }
    case "in-process":
      return new GuardedTransport(await config.server.connect(), clock);
    default:
      return config satisfies never;
  }
}

/** Windows has no process groups, and finds programs by rules of its own. */
async function windowsTransport({
  command,
  args,
  env,
  cwd,
}: Extract<McpTransport, { type: "stdio" }>): Promise<Transport> {
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    stderr: "ignore",
    ...(cwd !== undefined && { cwd }),
  });
  return transport as unknown as Transport; // the same interface, from the SDK's other entry
}
