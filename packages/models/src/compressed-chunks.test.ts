import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, createGzip, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { anthropicFrom } from "./anthropic.ts";
import { collectEvents, modelRequest } from "./testing/index.ts";
import { nodeTransport, type TransportResponse } from "./transport.ts";

const TEXT = "event: a\ndata: wörds \u{1f30d} ".repeat(2_000);

/** What the answer of a server is, asked over the transport of Node. */
async function asking<T>(
  answer: (response: ServerResponse) => void,
  use: (ask: (signal?: AbortSignal) => Promise<TransportResponse>, url: string) => Promise<T>,
): Promise<T> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => answer(response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  try {
    return await use(
      (signal = new AbortController().signal) => nodeTransport({ url, headers: {}, body: "{}", signal }),
      url,
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function read({ chunks }: TransportResponse): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString();
}

describe("a body that was compressed unasked", () => {
  for (const [encoding, bytes] of [
    ["gzip", gzipSync(TEXT)],
    ["X-GZIP", gzipSync(TEXT)],
    ["deflate", deflateSync(TEXT)],
    ["br", brotliCompressSync(TEXT)],
    ["zstd", zstdCompressSync(TEXT)],
    ["identity", Buffer.from(TEXT)],
  ] as const) {
    it(`G25 is read as it was before: ${encoding}`, async () => {
      const found = await asking(
        (response) => {
          response.writeHead(200, { "content-encoding": encoding });
          for (let at = 0; at < bytes.length; at += 97) response.write(bytes.subarray(at, at + 97));
          response.end();
        },
        async (ask) => read(await ask()),
      );
      expect(found).toBe(TEXT);
    });
  }

  it("G25 is given piece by piece, and breaks off with its reader", async () => {
    const closed = Promise.withResolvers<void>();
    await asking(
      (response) => {
        response.on("close", closed.resolve);
        response.writeHead(200, { "content-encoding": "gzip" });
        const gzip = createGzip();
        gzip.pipe(response);
        gzip.write("first");
        gzip.flush();
      },
      async (ask) => {
        const { chunks } = await ask();
        for await (const chunk of chunks) {
          expect(Buffer.from(chunk).toString()).toBe("first");
          break; // while the server has more to say
        }
        await closed.promise;
      },
    );
  });

  it("MODEL-12 throws the reason of an abort in the middle", async () => {
    const controller = new AbortController();
    await asking(
      (response) => {
        response.writeHead(200, { "content-encoding": "gzip" });
        response.write(gzipSync("first").subarray(0, 12));
      },
      async (ask) => {
        const reading = read(await ask(controller.signal));
        controller.abort("enough");
        await expect(reading).rejects.toBe("enough");
      },
    );
  });

  it("LOOP-29 G25 ends in a typed error when it is cut or damaged", async () => {
    const bytes = gzipSync(TEXT);
    const cut = (response: ServerResponse): void => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.write(bytes.subarray(0, 200), () => response.destroy());
    };
    const damaged = (response: ServerResponse): void => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.end("this is no gzip at all");
    };
    for (const answer of [cut, damaged])
      await expect(asking(answer, async (ask) => read(await ask()))).rejects.toMatchObject({
        code: "model-network",
        retryable: true,
      });
  });

  it("LOOP-29 tells a refusal in a compressed body", async () => {
    const body = JSON.stringify({
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long" },
    });
    await asking(
      (response) => {
        response.writeHead(400, { "content-type": "application/json", "content-encoding": "gzip" });
        response.end(gzipSync(body));
      },
      async (_ask, url) => {
        const model = anthropicFrom({}, "claude-x", { apiKey: "test-key-0", baseUrl: url });
        const request = modelRequest([{ id: "m", role: "user", parts: [{ type: "text", text: "Hi" }] }]);
        await expect(collectEvents(model, request)).rejects.toMatchObject({ code: "model-context-exceeded" });
      },
    );
  });
});
