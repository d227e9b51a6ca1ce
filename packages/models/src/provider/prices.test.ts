import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { findProvider } from "@pydantic/genai-prices";
import { describe, expect, it } from "vitest";
import { anthropicFrom } from "../anthropic.ts";
import { modelFacts } from "../anthropic/model-table.ts";
import { withCost } from "../price.ts";
import { priceOf, toPrice } from "./prices.ts";

describe("priceOf", () => {
  it("COST-06 knows what published models cost, their cache included", async () => {
    expect(await priceOf("openai", "gpt-5")).toEqual({ input: 1.25, output: 10, cacheRead: 0.125 });
    expect(await priceOf("groq", "openai/gpt-oss-120b")).toEqual({ input: 0.15, output: 0.6, cacheRead: 0.075 });
  });

  it("COST-06 charges a long prompt as a whole at its own rates", async () => {
    const price = await priceOf("gemini", "gemini-2.5-pro");
    expect(price).toEqual({
      input: 1.25,
      output: 10,
      cacheRead: 0.125,
      long: { overTokens: 200_000, input: 2.5, output: 15, cacheRead: 0.25 },
    });
    const cost = (inputTokens: number): number | undefined =>
      withCost({ inputTokens, outputTokens: 1_000 }, price).costMicroUsd;
    expect(cost(200_000)).toBe(200_000 * 1.25 + 10_000);
    expect(cost(200_001)).toBe(Math.ceil(200_001 * 2.5 + 15_000));
  });

  it("COST-06 takes Claude models from their own table, and older ones from the list", async () => {
    const priceNow = (id: string) => anthropicFrom({ ANTHROPIC_API_KEY: "key" }, id).price?.();
    expect(await priceNow("claude-sonnet-5-5")).toEqual(modelFacts("claude-sonnet-5-5").price);
    expect(await priceNow("claude-3-haiku-20240307")).toEqual({
      input: 0.25,
      output: 1.25,
      cacheRead: 0.03,
      cacheWrite: 0.3,
    });
  });

  it("says nothing of models and providers that are not listed by their own name", async () => {
    const unknown = [
      ["openai", "gpt-99"],
      ["gemini", "gemini-3.8-flash-lite"], // listed names are taken by their beginning
      ["openai-chat", "gpt-5"],
      ["my-openai", "gpt-5"],
      ["ollama", "llama3.1"],
      ["__proto__", "gpt-5"],
      ["", ""],
    ] as const;
    for (const [provider, model] of unknown)
      expect([model, await priceOf(provider, model)]).toEqual([model, undefined]);
  });

  it("takes dates and channels for the same model", async () => {
    const price = await priceOf("gemini", "gemini-2.5-pro");
    expect(await priceOf("gemini", "gemini-2.5-pro-preview-05-06")).toEqual(price);
    expect(await priceOf("openai", "gpt-5-2025-08-07")).toEqual(await priceOf("openai", "gpt-5"));
  });
});

describe("priceOf where the list is not installed", () => {
  it("COST-06 knows the prices of our own tables and no others", async () => {
    const program = `
      import { registerHooks } from "node:module";
      registerHooks({ resolve(name, context, next) {
        if (name.startsWith("@pydantic/")) throw Object.assign(new Error("none"), { code: "ERR_MODULE_NOT_FOUND" });
        return next(name, context);
      } });
      const { priceOf } = await import(${JSON.stringify(new URL("./prices.ts", import.meta.url).href)});
      const { anthropicFrom } = await import(${JSON.stringify(new URL("../anthropic.ts", import.meta.url).href)});
      const claude = anthropicFrom({ ANTHROPIC_API_KEY: "key" }, "claude-sonnet-5-5");
      const found = [await priceOf("openai", "gpt-5"), await claude.price()];
      console.log(JSON.stringify(found.map((price) => price?.input ?? null)));`;
    const args = ["--conditions=capstan-source", "--input-type=module", "--eval", program];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(JSON.parse(stdout)).toEqual([null, 2]);
  });
});

describe("toPrice", () => {
  it("needs a price of input and of output", () => {
    expect(toPrice({})).toBeUndefined();
    expect(toPrice({ input_mtok: 1 })).toBeUndefined();
    expect(toPrice({ input_mtok: 0, output_mtok: 0, requests_kcount: 5 })).toEqual({ input: 0, output: 0 });
  });

  it("keeps rates without steps in the long price", () => {
    const stepped = { base: 1, tiers: [{ start: 1_000, price: 2 }] };
    expect(toPrice({ input_mtok: stepped, output_mtok: 4 })).toEqual({
      input: 1,
      output: 4,
      long: { overTokens: 1_000, input: 2, output: 4 },
    });
  });
});

/** Its step for long prompts is history: longer ones are refused. */
const STEPPED = "claude-sonnet-4-5";

describe("the table of Claude models", () => {
  it("COST-06 agrees with the list on every model both know", () => {
    const listed = findProvider({ providerId: "anthropic" })?.models ?? [];
    let compared = 0;
    for (const { id, prices } of listed) {
      const own = modelFacts(id).price;
      const newest = Array.isArray(prices) ? prices.at(-1)?.prices : prices;
      if (own === undefined || newest === undefined || id === STEPPED) continue;
      expect({ id, ...own }).toEqual({ id, ...toPrice(newest) });
      compared++;
    }
    expect(compared).toBeGreaterThan(8);
  });

  it("knows a dated name from a minor version", () => {
    expect(modelFacts("claude-fable-5-20260601").price?.cacheRead).toBe(1);
    expect(modelFacts("claude-fable-5-1").price?.cacheRead).toBe(0.25);
    expect(modelFacts("claude-fable-5-1-20260901").price?.cacheRead).toBe(0.25);
  });
});
