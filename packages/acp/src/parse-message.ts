/** One line as a JSON-RPC message, or what is to be answered instead. No line gets past this that the SDK could stumble over. */

import type { Line } from "@capstan/wire";
import { ACP_LIMITS as LIMITS } from "./limits.ts";

/** Checked as far as an envelope goes: params and results are checked by whoever takes them. */
export type Message = { readonly jsonrpc: "2.0" } & { readonly [name: string]: unknown };
export type RpcId = string | number | null;
export type Problem = { readonly code: number; readonly message: string };
export type Parsed =
  | { readonly type: "request"; readonly id: RpcId; readonly message: Message }
  | { readonly type: "notification"; readonly message: Message }
  | { readonly type: "response"; readonly id: RpcId; readonly message: Message }
  | { readonly type: "wrong"; readonly problem: Problem };

export function parseMessage(line: Line): Parsed {
  if (line.type !== "line") {
    const tooLong = line.type === "too-long";
    return tooLong
      ? wrong(-32_600, `Invalid request: longer than ${LIMITS.messageBytes} bytes`)
      : wrong(-32_700, "Parse error: the line is no UTF-8");
  }
  let value: unknown;
  try {
    value = JSON.parse(line.text);
  } catch {
    return wrong(-32_700, "Parse error: the line is no JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return wrong(-32_600, "Invalid request: one JSON object a line");
  if (isTooDeep(value)) return wrong(-32_600, `Invalid request: nested more than ${LIMITS.messageDepth} times`);
  const message = value as Message; // an object; what it holds is looked at below
  if (message["jsonrpc"] !== "2.0") return wrong(-32_600, 'Invalid request: jsonrpc must be "2.0"');
  return shapeOf(message);
}

function shapeOf(message: Message): Parsed {
  const { method, id } = message;
  const hasId = Object.hasOwn(message, "id");
  if (hasId && !isId(id)) return wrong(-32_600, "Invalid request: id must be a text, a number or null");
  if (method !== undefined && typeof method !== "string")
    return wrong(-32_600, "Invalid request: method must be a text");
  if (method === undefined && !hasId) return wrong(-32_600, "Invalid request: neither a method nor an id");
  if (method === undefined) return { type: "response", id: id as RpcId, message }; // checked above
  return hasId ? { type: "request", id: id as RpcId, message } : { type: "notification", message };
}

function wrong(code: number, message: string): Parsed {
  return { type: "wrong", problem: { code, message } };
}

function isId(value: unknown): boolean {
  return value === null || typeof value === "string" || (typeof value === "number" && Number.isFinite(value));
}

/** Without recursion: a text of brackets is parsed at any depth, and what is made of it later is not. */
function isTooDeep(value: object): boolean {
  let level: object[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth >= LIMITS.messageDepth) return true;
    level = level.flatMap((item) => Object.values(item).filter((inner) => typeof inner === "object" && inner !== null));
  }
  return false;
}
