import { agent, jsonSchema, tool } from "@capstan/core";
import { testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { geminiFrom } from "./gemini.ts";
import { type GeminiReply, geminiServer } from "./testing/index.ts";

const weather = tool({
  name: "weather",
  description: "Tells the weather.",
  input: jsonSchema({ type: "object", properties: { city: { type: "string" } } }),
  rerun: "safe",
  execute: (input) => `Rain in ${String(Object(input).city)}`,
});

describe("gemini in a run", () => {
  it("MODEL-02 MODEL-16 LOOP-20 keeps calls, signatures and broken answers in step over many turns", async () => {
    const replies: readonly GeminiReply[] = [
      {
        parts: [
          { text: "Both cities.", thought: true },
          { functionCall: { id: "k1", name: "weather", args: { city: "Oslo" } }, thoughtSignature: "s1" },
          { functionCall: { id: "k2", name: "weather", args: { city: "Rome" } } },
        ],
      },
      { parts: [{ functionCall: { name: "weather", args: { city: "Bonn" } }, thoughtSignature: "s2" }] },
      { parts: [{ text: "It rains" }], finishReason: "CONTINUATION", candidate: { continuationToken: "t1" } },
      { parts: [{ text: " everywhere.", thoughtSignature: "s3" }] },
      { parts: [{ text: "Still." }] },
    ];
    await using server = await geminiServer(replies);
    const model = geminiFrom({}, "gemini-3.8-flash", { apiKey: "test-key-0", baseUrl: server.url });
    const guide = agent({ name: "guide", model, instructions: "Help.", tools: [weather] });
    const runtime = await testRuntime({
      agents: [guide],
      models: { guide: model },
      permission: { allow: ["weather"] },
    });
    try {
      const session = await runtime.session({ agent: guide });
      const first = await (await session.send("Umbrella?")).result();
      expect([first.reason, first.text]).toEqual(["end-turn", " everywhere."]);
      expect(await (await session.send("And now?")).text()).toBe("Still.");
    } finally {
      await runtime.close();
    }
    expect(server.violations).toEqual([]);
    const { contents } = (server.requests.at(-1)?.body ?? {}) as { readonly contents?: readonly object[] };
    expect(contents).toMatchObject([
      { role: "user", parts: [{ text: "Umbrella?" }] },
      {
        role: "model",
        parts: [{ functionCall: { id: "k1" }, thoughtSignature: "s1" }, { functionCall: { id: "k2" } }],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "k1", response: { output: "Rain in Oslo" } } },
          { functionResponse: { id: "k2", response: { output: "Rain in Rome" } } },
        ],
      },
      { role: "model", parts: [{ functionCall: { args: { city: "Bonn" } }, thoughtSignature: "s2" }] },
      { role: "user", parts: [{ functionResponse: { response: { output: "Rain in Bonn" } } }] },
      { role: "model", parts: [{ text: "It rains" }, { text: " everywhere.", thoughtSignature: "s3" }] },
      { role: "user", parts: [{ text: "And now?" }] },
    ]);
  });
});
