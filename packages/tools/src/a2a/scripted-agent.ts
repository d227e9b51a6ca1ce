/** A remote agent on loopback that answers as it is told, in A2A 1.0: for tests of what can go wrong. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json } from "@capstan/core";

export type Rpc = {
  readonly method: string;
  readonly params: { readonly id?: string; readonly message?: { readonly messageId: string } };
  readonly headers: IncomingMessage["headers"];
};
/** JSON is the result of the call; a function writes the answer itself. */
export type ScriptedAnswer = Json | ((response: ServerResponse, rpc: Rpc) => void | Promise<void>);
export type ScriptedAgent = { readonly url: string; readonly calls: Rpc[]; close(): Promise<void> };
export type ScriptedAgentOptions = {
  /** In place of the agent's card. */
  readonly card?: (response: ServerResponse, url: string) => void;
  readonly streaming?: boolean;
  /** By method; one that is not there is refused. */
  readonly answers?: { readonly [method: string]: ScriptedAnswer };
};

export async function scriptedAgent(options: ScriptedAgentOptions = {}): Promise<ScriptedAgent> {
  const { card, streaming = false, answers = {} } = options;
  const calls: Rpc[] = [];
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // of TCP

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === "GET") {
      if (card !== undefined) return card(response, url);
      return void response.end(JSON.stringify(scriptedCard(url, streaming)));
    }
    const chunks: Uint8Array[] = [];
    for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk);
    const { method, params } = JSON.parse(Buffer.concat(chunks).toString()) as Pick<Rpc, "method" | "params">; // our client's
    const rpc: Rpc = { method, params, headers: request.headers };
    calls.push(rpc);
    const answer = answers[method];
    if (typeof answer === "function") return answer(response, rpc);
    const error = { code: -32_601, message: "Method not found" };
    const body = answer === undefined ? { error } : { result: answer };
    response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }));
  };
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url, calls, close };
}

export function scriptedCard(url: string, streaming = false): Json {
  return {
    name: "Scripted",
    capabilities: { streaming },
    supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  };
}

/** A task that says this in its state. */
export function scriptedTask(state: string, said = ""): Json {
  const message = { role: "ROLE_AGENT", messageId: "m1", parts: [{ text: said }] };
  return {
    id: "task-1",
    contextId: "context-1",
    status: { state: `TASK_STATE_${state}`, ...(said !== "" && { message }) },
  };
}

/** Writes events of a stream, each the result of the call. */
export function streamEvents(response: ServerResponse, results: readonly Json[]): void {
  response.setHeader("content-type", "text/event-stream");
  for (const result of results) response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result })}\n\n`);
}
