import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOfStream } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { embedAll, type Embedder } from "./embedder.ts";
import { ollamaEmbedder, openaiEmbedder } from "./http-embedders.ts";

const servers: Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => (server.closeAllConnections(), server.close())));

type Seen = { readonly path: string; readonly authorization: string | undefined; readonly body: unknown };
async function serve(answer: (seen: Seen, response: ServerResponse) => void): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.parse(await textOfStream(request)) as unknown;
    const one = { path: `${request.method} ${request.url}`, authorization: request.headers.authorization, body };
    seen.push(one);
    answer(one, response);
  };
  const server = createServer((request, response) => void handle(request, response));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}
const signal = new AbortController().signal;
const embed = (embedder: Embedder, texts = ["a", "b"], as: "passage" | "query" = "passage") =>
  embedAll(embedder, texts, { as, signal });

describe("ollamaEmbedder", () => {
  it("SKILL-12 asks a local Ollama for all texts at once, with the words that the model wants before them", async () => {
    const { url, seen } = await serve((_seen, response) =>
      response.end(
        JSON.stringify({
          model: "nomic",
          embeddings: [
            [0, 2],
            [3, 0],
          ],
          total_duration: 1,
        }),
      ),
    );
    const prefix = { passage: "search_document: ", query: "search_query: " };
    const embedder = ollamaEmbedder("nomic-embed-text", { baseUrl: url, prefix });
    expect((await embed(embedder)).map((vector) => [...vector])).toEqual([
      [0, 1],
      [1, 0],
    ]);
    await embed(embedder, ["a", "b"], "query");
    expect(seen.map(({ path, authorization, body }) => [path, authorization, body])).toEqual([
      [
        "POST /api/embed",
        undefined,
        { model: "nomic-embed-text", input: ["search_document: a", "search_document: b"] },
      ],
      ["POST /api/embed", undefined, { model: "nomic-embed-text", input: ["search_query: a", "search_query: b"] }],
    ]);
    expect(embedder.id).not.toBe(ollamaEmbedder("nomic-embed-text").id);
  });
});

describe("openaiEmbedder", () => {
  it("SKILL-12 takes vectors by their index, and sends the key", async () => {
    const { url, seen } = await serve((_seen, response) =>
      response.end(
        JSON.stringify({
          data: [
            { index: 1, embedding: [3, 0] },
            { index: 0, embedding: [0, 2] },
          ],
        }),
      ),
    );
    const embedder = openaiEmbedder("text-embedding-3-small", { baseUrl: `${url}/v1`, apiKey: "sk-test" });
    expect((await embed(embedder)).map((vector) => [...vector])).toEqual([
      [0, 1],
      [1, 0],
    ]);
    expect(seen).toEqual([
      {
        path: "POST /v1/embeddings",
        authorization: "Bearer sk-test",
        body: { model: "text-embedding-3-small", input: ["a", "b"], encoding_format: "float" },
      },
    ]);
  });

  it("SKILL-12 tells what went wrong with a server, whatever it answers", async () => {
    const cases: readonly [string, number, string][] = [
      ["model-auth", 401, "no"],
      ["model-not-found", 404, '{"error":"no such model"}'],
      ["model-failed", 500, "\u001b[31mbroken"],
      ["model-protocol", 200, "<html>"],
      ["model-protocol", 200, "null"],
      ["model-protocol", 200, '{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}'],
      ["model-protocol", 200, '{"data":[{"index":5,"embedding":[1]},{"index":1e9,"embedding":[1]}]}'],
      ["model-network", 307, ""],
    ];
    for (const [code, status, body] of cases) {
      const { url } = await serve((_seen, response) =>
        response.writeHead(status, status === 307 ? { location: "http://127.0.0.1:1/" } : {}).end(body),
      );
      const failing = embed(openaiEmbedder("m", { baseUrl: url }));
      await expect(failing, body).rejects.toMatchObject({ code, message: expect.not.stringMatching(/\p{Cc}/u) });
    }
    await expect(embed(openaiEmbedder("m", { baseUrl: "http://127.0.0.1:1" }))).rejects.toMatchObject({
      code: "model-network",
      retryable: true,
    });
    expect(() => ollamaEmbedder("m", { baseUrl: "localhost" })).toThrow(/address/);
  });

  it("stops when it is told to", async () => {
    const { url } = await serve(() => undefined); // never answers
    const stop = new AbortController();
    const running = embedAll(ollamaEmbedder("m", { baseUrl: url }), ["a"], { as: "query", signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
  });
});
