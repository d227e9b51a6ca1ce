/** What every message of a server must be before anything else looks at it: JSON-RPC, not too deep, and not without end. */

import type { Clock } from "@capstan/core";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { MCP_LIMITS } from "../limits.ts";

/** A server that breaks the bounds of the protocol; its connection ends. */
export class ServerFault extends Error {}

/** A text of one message as the message it is; nothing when it is none. Throws `ServerFault` when it is too deep. */
export function parseMessage(line: string): JSONRPCMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  checkDepth(value);
  return isMessage(value) ? value : undefined;
}

/** Throws `ServerFault`. Walks without recursion: what is checked may be deeper than the stack. */
export function checkDepth(value: unknown): void {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MCP_LIMITS.messageDepth) {
      throw new ServerFault(`it sent a message with more than ${MCP_LIMITS.messageDepth} values inside each other`);
    }
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== "object" || one === null) continue;
      for (const inner of Array.isArray(one) ? (one as readonly unknown[]) : Object.values(one)) {
        if (typeof inner === "object" && inner !== null) next.push(inner);
      }
    }
    level = next;
  }
}

/** Counts messages nobody asked for; throws `ServerFault` when they do not end. */
export function floodGate(clock: Clock): (message: JSONRPCMessage) => void {
  let count = 0;
  let since = clock.monotonic();
  return (message) => {
    if (!("method" in message)) return;
    const now = clock.monotonic();
    if (now - since > MCP_LIMITS.floodMs) {
      since = now;
      count = 0;
    }
    count += 1;
    if (count > MCP_LIMITS.unaskedMessages) {
      throw new ServerFault(`it sent more than ${MCP_LIMITS.unaskedMessages} messages nobody asked for`);
    }
  };
}

/** The shape only; the SDK checks each message against its schema. */
export function isMessage(value: unknown): value is JSONRPCMessage {
  if (typeof value !== "object" || value === null || !("jsonrpc" in value) || value.jsonrpc !== "2.0") return false;
  if ("method" in value) return true;
  const id = "id" in value ? value.id : undefined;
  if (typeof id === "string" && !Number.isNaN(Number(id))) return false; // a text that reads as a number is the id of nothing that was asked
  return "result" in value || "error" in value;
}
