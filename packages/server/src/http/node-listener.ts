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
    if (isOfOther(incoming)) {
      outgoing.writeHead(400, { connection: "close" }).end();
      return Promise.resolve();
    }
    return listen(incoming, outgoing);
  };
}

/** A request line may name a host too (RFC 9112, 3.2.2): one that is not that of the header is told to somebody else. */
function isOfOther({ url = "", headers }: IncomingMessage): boolean {
  if (url.startsWith("/")) return false;
  return !URL.canParse(url) || new URL(url).host !== (headers.host ?? "").toLowerCase().replace(/:80$/, "");
}
