/** A server in this process that says exactly what a test wants, in revision 2025-06-18, without any library between. */

import type { Transport } from "@modelcontextprotocol/client";
import type { InProcessServer } from "../serve/in-process.ts";

export type RawRequest = { readonly id?: number | string; readonly method?: string; readonly params?: never };
/** Sends any message, also what is none. */
export type Say = (message: unknown) => void;
/** Returns the result of a request; `undefined` leaves it to the plain server, `null` to `say`. */
export type RawAnswer = (request: RawRequest, say: Say) => unknown;

export const ECHO = {
  name: "echo",
  description: "Says it again.",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
};

export function rawServer(answer: RawAnswer): InProcessServer {
  return { type: "mcp-in-process", connect: () => Promise.resolve(transport(answer)) };
}

function transport(answer: RawAnswer): Transport {
  const made: Transport = {
    start: () => Promise.resolve(),
    close: () => Promise.resolve(made.onclose?.()),
    send: (message) => {
      const request = message as RawRequest;
      queueMicrotask(() => {
        const say: Say = (said) => made.onmessage?.(said as never); // that it is none is the point
        const own = answer(request, say);
        const given = own === undefined ? plain(request) : own;
        if (given !== null && request.id !== undefined && request.method !== undefined) say({ jsonrpc: "2.0", id: request.id, ...(isError(given) ? given : { result: given }) });
      });
      return Promise.resolve();
    },
  };
  return made;
}

function plain({ method }: RawRequest): unknown {
  switch (method) {
    case "initialize":
      return { protocolVersion: "2025-06-18", capabilities: { tools: { listChanged: true } }, serverInfo: { name: "raw", version: "1" } };
    case "ping":
      return {};
    case "tools/list":
      return { tools: [ECHO] };
    default:
      return { error: { code: -32601, message: "Method not found" } };
  }
}

function isError(given: unknown): given is { readonly error: object } {
  return typeof given === "object" && given !== null && "error" in given;
}
