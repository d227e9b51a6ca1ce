import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { type CatalogModel, usableModels } from "./catalog.ts";

/** A port of the loopback where nobody listens: servers of this machine do not disturb these tests. */
const NOBODY = "http://127.0.0.1:1/v1";
const QUIET = { OLLAMA_BASE_URL: NOBODY, VLLM_BASE_URL: NOBODY };

async function localServer(answer: RequestListener): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}/v1`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const of = (models: readonly CatalogModel[], provider: string) => models.filter((model) => model.provider === provider);

describe("usableModels", () => {
  it("MODEL-06 COST-06 says what a key makes usable, with context, price and abilities, and never the key", async () => {
    const models = await usableModels({
      ...QUIET,
      ANTHROPIC_API_KEY: "sk-ant-very-secret",
      GOOGLE_API_KEY: "AIza-secret",
    });
    expect(of(models, "anthropic")).toEqual([
      {
        provider: "anthropic",
        model: "anthropic/claude-sonnet-5-5",
        usable: true,
        key: "found",
        keyVariables: ["ANTHROPIC_API_KEY"],
        contextTokens: 1_000_000,
        price: { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 },
        capabilities: expect.objectContaining({ images: true, structured: true, cacheMarkers: true }),
      },
    ]);
    expect(of(models, "gemini")[0]).toMatchObject({ usable: true, key: "found" });
    expect(JSON.stringify(models)).not.toContain("secret");
  });

  it("says which variable is missing, and what the model could do with it", async () => {
    const models = await usableModels(QUIET);
    expect(of(models, "openai")[0]).toMatchObject({
      usable: false,
      key: "missing",
      problem: "Set OPENAI_API_KEY.",
      model: expect.stringMatching(/^openai\/./),
      capabilities: { images: true },
    });
    expect(of(models, "demo")).toEqual([
      {
        provider: "demo",
        model: "demo/scripted",
        usable: true,
        key: "not-needed",
        keyVariables: [],
        price: { input: 0, output: 0 },
        capabilities: {},
      },
    ]);
    expect(models.filter(({ usable }) => usable).map(({ provider }) => provider)).toEqual(["demo"]);
  });

  it("says of a provider without a default that a model must be named, and takes the one of its variable", async () => {
    const key = { ...QUIET, OPENROUTER_API_KEY: "k" };
    expect(of(await usableModels(key), "openrouter")).toMatchObject([
      { usable: false, key: "found", problem: expect.stringContaining("OPENROUTER_MODEL") },
    ]);
    const named = await usableModels({ ...key, OPENROUTER_MODEL: "anthropic/claude-sonnet-5-5" });
    expect(of(named, "openrouter")).toMatchObject([{ usable: true, model: "openrouter/anthropic/claude-sonnet-5-5" }]);
  });

  it("tells a wrong address in place of the model", async () => {
    const models = await usableModels({ ...QUIET, ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "not a url" });
    expect(of(models, "anthropic")[0]).toMatchObject({ usable: false, problem: expect.stringContaining("base URL") });
  });

  it("lists what servers of this machine offer, asking them with their own key only", async () => {
    const asked: string[] = [];
    await using server = await localServer(({ url, headers }, response) => {
      asked.push(`${url} with ${headers.authorization ?? "no key"}`);
      response.end(
        JSON.stringify({ data: [{ id: "llama3.1:8b" }, { id: "qwen3" }, { id: "qwen3" }, { id: 5 }, null] }),
      );
    });
    const env = {
      OLLAMA_BASE_URL: server.url,
      VLLM_BASE_URL: `${server.url}/`,
      VLLM_API_KEY: "vllm-key",
      OPENAI_API_KEY: "other-key",
    };
    const models = await usableModels(env, { probeMs: 10_000 });
    expect(of(models, "ollama")).toMatchObject([
      { model: "ollama/llama3.1:8b", usable: true, key: "not-needed" },
      { model: "ollama/qwen3", usable: true },
    ]);
    expect(of(models, "vllm").map(({ model }) => model)).toEqual(["vllm/llama3.1:8b", "vllm/qwen3"]);
    expect(asked.toSorted()).toEqual(["/v1/models with Bearer vllm-key", "/v1/models with no key"]);
  });

  it("says of a server that was configured and does not answer that it must be started", async () => {
    expect(of(await usableModels({ ...QUIET, OLLAMA_MODEL: "qwen3" }), "ollama")).toMatchObject([
      { model: "ollama/qwen3", usable: false, problem: `No server answers at ${NOBODY}. Start it.` },
    ]);
  });

  it("does not wait for a server that accepts and says nothing, nor follow one that leads away", async () => {
    const { promise: away, resolve: led } = Promise.withResolvers<void>();
    let followed = false;
    await using target = await localServer((_request, response) => {
      followed = true;
      response.end('{"data":[{"id":"stolen"}]}');
    });
    await using silent = await localServer(() => undefined);
    await using leading = await localServer((_request, response) => {
      response.writeHead(302, { location: `${target.url}/models` }).end(() => led());
    });
    const env = { OLLAMA_BASE_URL: silent.url, VLLM_BASE_URL: leading.url };
    const models = await usableModels(env, { probeMs: 100 });
    await away;
    expect(followed).toBe(false);
    for (const provider of ["ollama", "vllm"]) expect(of(models, provider)).toMatchObject([{ usable: false }]);
  });

  it("asks nothing of servers elsewhere", async () => {
    const models = await usableModels({
      ...QUIET,
      OLLAMA_BASE_URL: "http://127.0.0.1.example.invalid/v1",
      OLLAMA_MODEL: "m",
    });
    expect(of(models, "ollama")).toMatchObject([{ model: "ollama/m", usable: true }]);
  });

  it("takes any other answer for no server", async () => {
    for (const body of ["", "<html>", "[]", '{"data":{}}', '{"models":[]}', "x".repeat(2_000_000)]) {
      await using server = await localServer((_request, response) => void response.end(body));
      const models = await usableModels({ ...QUIET, OLLAMA_BASE_URL: server.url }, { probeMs: 5_000 });
      expect(of(models, "ollama")).toMatchObject([{ usable: false }]);
    }
  });
});
