/** A server of tools in this process, as an entry of a configuration: own tools behind the same names, rules and hooks as others. */

import { type Tool } from "@capstan/core";
import type { Transport } from "@modelcontextprotocol/client";
import { clientSdk } from "../connect/sdk.ts";
import { serverOf } from "./tool-server.ts";

export type InProcessServer = {
  readonly type: "mcp-in-process";
  /** A new connection to it, the client's end. */
  connect(): Promise<Transport>;
};

/** Give it as `{ server: inProcessServer(...) }`. Tools of one effect only: a flow needs a run of its own. */
export function inProcessServer(tools: readonly Tool[], options: { readonly name?: string } = {}): InProcessServer {
  return {
    type: "mcp-in-process",
    async connect() {
      const { InMemoryTransport } = await clientSdk();
      const [near, far] = InMemoryTransport.createLinkedPair();
      const server = await serverOf({ name: options.name ?? "tools", tools });
      await server.connect(far as unknown as Parameters<typeof server.connect>[0]); // the same class, from the SDK's other package
      return near;
    },
  };
}
