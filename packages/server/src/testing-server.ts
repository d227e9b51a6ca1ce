/** For tests: a door on a real socket of the loopback. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type HttpHandle, httpHandler, type HttpOptions } from "./http/handler.ts";
import { nodeListener } from "./http/node-listener.ts";

export type TestServer = AsyncDisposable & {
  readonly url: string;
  readonly server: Server;
  readonly handle: HttpHandle;
  /** As `fetch`, with the token and the path of this server. */
  readonly ask: (
    path: string,
    init?: RequestInit & { readonly json?: unknown; readonly token?: string },
  ) => Promise<Response>;
};

/** Tokens are `<id>`, `<id>@<tenant>` or `trusted`. */
export async function testServer(options: Omit<HttpOptions, "authorize"> & Partial<HttpOptions>): Promise<TestServer> {
  const handle = httpHandler({
    authorize: (request) => {
      const [, token = ""] = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "") ?? [];
      const [id = "", tenant] = token.split("@");
      if (id === "") return null;
      return { id, trusted: id === "trusted", ...(tenant !== undefined && { tenant }) };
    },
    ...options,
  });
  const server = createServer((incoming, outgoing) => void nodeListener(handle)(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${options.basePath ?? ""}`;
  return {
    url,
    server,
    handle,
    ask(path, { json, token = "ann", ...init } = {}) {
      const headers = new Headers(init.headers);
      if (token !== "") headers.set("authorization", `Bearer ${token}`);
      if (json === undefined) return fetch(`${url}${path}`, { ...init, headers });
      headers.set("content-type", "application/json");
      return fetch(`${url}${path}`, { method: "POST", ...init, headers, body: JSON.stringify(json) });
    },
    async [Symbol.asyncDispose]() {
      handle.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type Frame = { readonly id?: string; readonly event?: string; readonly data: unknown };

/** Events of a response as they come. */
export async function* framesIn(response: Response): AsyncGenerator<Frame> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const fields = Object.fromEntries(
        block.split("\n").map((line) => [line.split(": ", 1)[0] ?? "", line.slice(line.indexOf(": ") + 2)]),
      );
      const { data, id, event } = fields;
      if (data === undefined) continue;
      const value: unknown = data.startsWith("{") ? JSON.parse(data) : data;
      yield { data: value, ...(id !== undefined && { id }), ...(event !== undefined && { event }) };
    }
  }
}
