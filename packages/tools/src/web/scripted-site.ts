/** For tests: a web server on loopback whose pages are functions. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export type ScriptedSite = {
  /** `http://127.0.0.1:port` */
  readonly origin: string;
  readonly host: string;
  /** What was asked, in order. */
  readonly asked: readonly Asked[];
  close(): Promise<void>;
};
export type Asked = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
};
type Answer = (response: ServerResponse, asked: Asked) => void;

export async function scriptedSite(answer: Answer): Promise<ScriptedSite> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      const one = { method: request.method ?? "", path: request.url ?? "", headers: request.headers, body };
      asked.push(one);
      answer(response, one);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const host = `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  return {
    origin: `http://${host}`,
    host,
    asked,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
