import { describe, expect, it } from "vitest";
import { PROVIDERS, resolveModel } from "./resolve-model.ts";
import { anthropicServer, collectEvents, modelRequest } from "./testing/index.ts";

const env = { ANTHROPIC_API_KEY: "k", ANTHROPIC_MODEL: "claude-from-env" };
const keys = {
  ANTHROPIC_API_KEY: "k",
  CEREBRAS_API_KEY: "k",
  DEEPSEEK_API_KEY: "k",
  GEMINI_API_KEY: "k",
  GROQ_API_KEY: "k",
  OPENAI_API_KEY: "k",
  OPENROUTER_API_KEY: "k",
};

describe("resolveModel", () => {
  it("takes provider/model, and the provider alone for its default", async () => {
    expect((await resolveModel("anthropic/claude-x", env)).id).toBe("anthropic/claude-x");
    expect((await resolveModel("anthropic", env)).id).toBe("anthropic/claude-from-env");
    expect((await resolveModel("anthropic/", env)).id).toBe("anthropic/claude-from-env");
  });

  it("keeps further slashes in the model's id", async () => {
    expect((await resolveModel("anthropic/vendor/claude-x", env)).id).toBe("anthropic/vendor/claude-x");
    expect((await resolveModel("openrouter/anthropic/claude-x", keys)).id).toBe("openrouter/anthropic/claude-x");
  });

  it.each(Object.keys(PROVIDERS).filter((provider) => provider !== "demo"))("makes a model of %s", async (provider) => {
    expect((await resolveModel(`${provider}/some-model`, keys)).id).toBe(`${provider}/some-model`);
  });

  it("LOOP-29 names the known providers when it does not know one", async () => {
    for (const name of ["", "nobody/x", "toString", "__proto__/x", `${"a".repeat(10_000)}/x`]) {
      await expect(resolveModel(name, env)).rejects.toMatchObject({
        code: "model-unknown",
        message: expect.stringContaining("anthropic, cerebras, deepseek, demo"),
      });
    }
  });

  it.each([
    ["antropic/claude-x", "anthropic/claude-x"],
    ["OpenAI", "openai"],
    ["open-router/a/b", "openrouter/a/b"],
    ["claude-sonnet-5-5", "anthropic/claude-sonnet-5-5"],
    ["gpt-6.1-sol", "openai/gpt-6.1-sol"],
    ["o3-mini", "openai/o3-mini"],
    ["gemini-3.8-flash", "gemini/gemini-3.8-flash"],
    ["google/gemini-3.8-flash", "gemini/gemini-3.8-flash"],
    ["claude/sonnet", "anthropic/sonnet"],
  ])("LOOP-29 asks of %s whether %s was meant", async (name, meant) => {
    await expect(resolveModel(name, keys)).rejects.toThrow(`Did you mean "${meant}"?`);
  });

  it("LOOP-29 guesses nothing where nothing is near", async () => {
    for (const name of ["", "x", "gm", "mistral/large"]) {
      await expect(resolveModel(name, keys)).rejects.not.toThrow("Did you mean");
    }
  });

  it.each([
    ["anthropic", "ANTHROPIC_API_KEY"],
    ["openai", "OPENAI_API_KEY"],
    ["openai-chat/x", "OPENAI_API_KEY"],
    ["gemini", "GEMINI_API_KEY or GOOGLE_API_KEY"],
    ["openrouter/x", "OPENROUTER_API_KEY"],
    ["groq/x", "GROQ_API_KEY"],
  ])("MODEL-06 names the variable that %s lacks: %s", async (name, variable) => {
    await expect(resolveModel(name, {})).rejects.toMatchObject({
      code: "model-key-missing",
      message: expect.stringContaining(`Set ${variable}`),
    });
  });

  it("MODEL-06 takes key, address and the bound of an answer from the environment", async () => {
    await using server = await anthropicServer(() => ({ content: [{ type: "text", text: "Hi" }] }));
    const model = await resolveModel("anthropic", {
      ...env,
      ANTHROPIC_BASE_URL: server.url,
      CAPSTAN_MAX_OUTPUT_TOKENS: "1234",
    });
    await collectEvents(model, modelRequest([{ id: "m", role: "user", parts: [{ type: "text", text: "Hello" }] }]));
    expect(server.requests[0]?.body).toMatchObject({ model: "claude-from-env", max_tokens: 1234 });
    expect(server.requests[0]?.headers["x-api-key"]).toBe("k");
  });

  it("MODEL-06 refuses a bound that is no number of tokens", async () => {
    for (const bound of ["0", "-5", "many", "1.5", "99999999999999999999"]) {
      await expect(resolveModel("anthropic", { ...env, CAPSTAN_MAX_OUTPUT_TOKENS: bound })).rejects.toMatchObject({
        code: "config-invalid",
        message: expect.stringContaining("CAPSTAN_MAX_OUTPUT_TOKENS"),
      });
    }
  });
});
