/** What is told of servers while they come, go and change. */

import type { McpTransport } from "./config/server-config.ts";

export type McpEvent =
  | { readonly type: "bootstrap.started"; readonly server: string; readonly transport: McpTransport["type"] }
  | {
      readonly type: "bootstrap.finished";
      readonly server: string;
      readonly transport: McpTransport["type"];
      readonly durationMs: number;
      readonly ok: boolean;
      readonly toolCount?: number;
      readonly message?: string;
    }
  | {
      readonly type: "server.connected";
      readonly server: string;
      readonly revision: string;
      readonly tools: readonly string[];
    }
  | { readonly type: "server.failed"; readonly server: string; readonly message: string }
  | { readonly type: "server.closed"; readonly server: string; readonly reason: string }
  | { readonly type: "tools.changed"; readonly server: string; readonly tools: readonly string[] }
  /** A tool that is not offered, a definition that is not the one that was approved. */
  | { readonly type: "tool.noticed"; readonly server: string; readonly message: string };

export type McpListener = (event: McpEvent) => void;

/** Calls the listener; what it throws is its own affair. */
export function tell(listener: McpListener | undefined, event: McpEvent): void {
  try {
    listener?.(event);
  } catch {
    // a listener that fails must not stop a call
  }
}
