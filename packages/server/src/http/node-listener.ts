/** A fetch handler for `node:http` and Express. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";

export type NodeListener = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

/** Below a mount of Express the handler sees the whole path, as its `basePath` says it. */
export function nodeListener(handle: (request: Request) => Response | Promise<Response>): NodeListener {
  const listen = getRequestListener((request) => handle(request), { overrideGlobalObjects: false });
  return (incoming, outgoing) => {
    const mounted = (incoming as { originalUrl?: unknown }).originalUrl; // Express adds it
    if (typeof mounted === "string") incoming.url = mounted;
    return listen(incoming, outgoing);
  };
}
