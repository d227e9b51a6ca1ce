/** A loopback model in its own process: speaks the Messages API, answers at once, takes its script from the path. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { textReply, toolReply } from "./model-replies.ts";
import { type OtherFormat, TEXT_FORMATS } from "./wire-formats.ts";

/** Bytes of one HTTP chunk unless the script says otherwise: what a busy stream delivers to one read. */
const CHUNK_BYTES = 4_096;
const RESULT = Buffer.from('"tool_use_id"');
const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  "request-id": "req_011CSHoEeqs5C35K2UUqR7Fy",
  "anthropic-organization-id": "e5d2bbf5-a9b5-4d6e-9c0c-5bd2d3e0c8a1",
};
const FINAL = textReply(4);
const texts = new Map<string, Buffer>();

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => reply(request, response, chunks));
});
server.keepAliveTimeout = 600_000;
server.listen({ port: 0, host: "127.0.0.1", backlog: 1_024 }, () => {
  const { port } = server.address() as AddressInfo; // it listens on TCP
  process.send?.(port);
});
process.on("disconnect", () => process.exit());

/** `/tools/<turns>/<calls>/...`: turns with calls, then a text. `/text/<deltas>/<chunkBytes>/<format>/...`: one long text. */
function reply(request: IncomingMessage, response: ServerResponse, chunks: readonly Buffer[]): void {
  const [, script, first, second, format = ""] = (request.url ?? "").split("/");
  response.writeHead(200, HEADERS);
  if (script === "text") {
    send(response, textOf(Number(first), format), Number(second));
    return;
  }
  const calls = Number(second);
  const turn = resultsIn(chunks) / calls;
  const bytes = turn < Number(first) ? toolReply(turn, calls) : FINAL;
  send(response, bytes, CHUNK_BYTES);
}

function textOf(deltas: number, format: string): Buffer {
  const key = `${format}/${deltas}`;
  const known =
    texts.get(key) ?? (isOther(format) ? Buffer.from(TEXT_FORMATS[format].reply(deltas)) : textReply(deltas));
  texts.set(key, known);
  return known;
}

function isOther(format: string): format is OtherFormat {
  return Object.hasOwn(TEXT_FORMATS, format);
}

/** Every chunk is a chunk of HTTP, so that the other side sees the same pieces however fast it reads. 0: one event each. */
function send(response: ServerResponse, bytes: Buffer, chunkBytes: number): void {
  let at = 0;
  const write = (): void => {
    while (at < bytes.length) {
      const end = chunkBytes === 0 ? bytes.indexOf("\n\n", at) + 2 : Math.min(bytes.length, at + chunkBytes);
      const free = response.write(bytes.subarray(at, end));
      at = end;
      if (!free) {
        response.once("drain", write);
        return;
      }
    }
    response.end();
  };
  write();
}

function resultsIn(chunks: readonly Buffer[]): number {
  const body = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
  let found = 0;
  for (let at = body.indexOf(RESULT); at !== -1; at = body.indexOf(RESULT, at + RESULT.length)) found += 1;
  return found;
}
