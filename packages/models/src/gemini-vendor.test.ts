import { readFileSync } from "node:fs";
import { GoogleGenAI, type GenerateContentResponse } from "@google/genai";
import { LLMock } from "@copilotkit/aimock";
import { type Message, type ModelEvent, textOf } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { geminiFrom } from "./gemini.ts";
import { collectEvents, geminiServer, modelRequest, partsOf } from "./testing/index.ts";

const MODEL = "gemini-3.8-flash";
const HELLO: Message = { id: "m1", role: "user", parts: [{ type: "text", text: "Umbrella?" }] };

function recorded(name: string): string {
  return readFileSync(new URL(`./gemini/__fixtures__/${name}.txt`, import.meta.url), "utf8");
}

async function decoded(name: string, chunkBytes: number): Promise<ModelEvent[]> {
  await using server = await geminiServer([{ parts: [], edit: () => [recorded(name)], delivery: { chunkBytes } }]);
  const model = geminiFrom({}, MODEL, { apiKey: "test-key-0", baseUrl: server.url });
  return await collectEvents(model, modelRequest([HELLO]));
}

async function vendor(name: string): Promise<GenerateContentResponse[]> {
  await using server = await geminiServer([{ parts: [], edit: () => [recorded(name)] }]);
  const client = new GoogleGenAI({ apiKey: "test-key-0", httpOptions: { baseUrl: server.url } });
  const chunks: GenerateContentResponse[] = [];
  for await (const chunk of await client.models.generateContentStream({ model: MODEL, contents: "Umbrella?" }))
    chunks.push(chunk);
  expect(server.violations).toEqual([]);
  return chunks;
}

const SIZES = [1, 7, 64, 500, 1_000_000];

describe("gemini's recorded answers", () => {
  for (const chunkBytes of SIZES) {
    it(`MODEL-02 reads parallel calls, ${chunkBytes} bytes at a time`, async () => {
      const events = await decoded("parallel-calls", chunkBytes);
      expect(partsOf(events)).toMatchObject([
        { type: "reasoning", text: "**Planning**\n\nThe user asks for two cities, so I call the tool twice.\n" },
        {
          type: "tool-call",
          input: { city: "Zürich", days: 2 },
          seal: { data: { id: "k3v9xq1a", signature: "CiQB0e2Kb3xkR5QmAa+/==" } },
        },
        { type: "tool-call", input: { city: "東京" }, seal: { data: { id: "p7m2rt4b", model: MODEL } } },
      ]);
      expect(events.at(-1)).toMatchObject({
        reason: "tool-calls",
        usage: { inputTokens: 62, outputTokens: 133, reasoningTokens: 98, cacheReadTokens: 0 },
      });
    });

    it(`COST-04 reads thoughts, text and cached tokens, ${chunkBytes} bytes at a time`, async () => {
      const events = await decoded("thinking-text", chunkBytes);
      expect(partsOf(events)).toMatchObject([
        { type: "reasoning", text: "Weighing both sides." },
        { type: "text", text: 'It is raining in Zürich ☔, take "it" along.\n Bye.' },
        { type: "opaque", seal: { data: { signature: "CiQB0e2Kb3xkR5QmBb+/==", tail: 1 } } },
      ]);
      expect(events.at(-1)).toMatchObject({
        reason: "stop",
        usage: { inputTokens: 376, outputTokens: 47, reasoningTokens: 30, cacheReadTokens: 1_024 },
      });
    });

    it(`LOOP-19 LOOP-29 types refusals, errors and cuts, ${chunkBytes} bytes at a time`, async () => {
      expect((await decoded("blocked-prompt", chunkBytes)).at(-1)).toMatchObject({ reason: "refusal" });
      const recitation = await decoded("refusal-in-answer", chunkBytes);
      expect(recitation.at(-1)).toMatchObject({ reason: "content-filter", rawReason: "RECITATION" });
      await expect(decoded("error-inside", chunkBytes)).rejects.toMatchObject({
        code: "model-overloaded",
        retryable: true,
      });
      const cut = await decoded("cut", chunkBytes);
      expect(cut.some(({ type }) => type === "finish" || type === "block-end")).toBe(false);
    });
  }
});

describe("gemini beside the vendor's own client", () => {
  for (const name of ["parallel-calls", "thinking-text", "refusal-in-answer", "blocked-prompt"]) {
    it(`MODEL-02 reads the same answer from the same bytes: ${name}`, async () => {
      const chunks = await vendor(name);
      const theirs = chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
      const events = await decoded(name, 100);
      const ours = partsOf(events);
      const joined = (thought: boolean): string =>
        theirs.map((part) => ((part.thought === true) === thought ? (part.text ?? "") : "")).join("");
      expect(textOf(ours)).toBe(joined(false));
      expect(ours.map((part) => (part.type === "reasoning" ? part.text : "")).join("")).toBe(joined(true));
      expect(ours.flatMap((part) => (part.type === "tool-call" ? [[part.name, part.input]] : []))).toEqual(
        theirs.flatMap(({ functionCall: call }) => (call === undefined ? [] : [[call.name, call.args]])),
      );
      const signatures = ours.flatMap((part) => ("seal" in part ? [Object(part.seal?.data).signature] : []));
      expect(signatures.filter((signature) => signature !== undefined)).toEqual(
        theirs.flatMap(({ thoughtSignature }) => thoughtSignature ?? []),
      );
      const usage = chunks.at(-1)?.usageMetadata;
      const finish = events.at(-1);
      if (finish?.type !== "finish") throw new Error("no finish");
      const { inputTokens, outputTokens, cacheReadTokens = 0 } = finish.usage;
      expect(inputTokens + cacheReadTokens + outputTokens).toBe(usage?.totalTokenCount);
    });
  }

  it("LOOP-29 throws where the vendor's client throws", async () => {
    await expect(vendor("error-inside")).rejects.toThrow();
  });
});

describe("gemini beside aimock", () => {
  it("MODEL-02 reads its text and its call", async () => {
    const mock = new LLMock({ port: 0 });
    mock.onMessage("Umbrella?", { content: "Take one, it rains." });
    mock.onMessage("Weather?", { toolCalls: [{ name: "weather", arguments: '{"city":"Oslo"}' }] });
    const baseUrl = await mock.start();
    try {
      const model = geminiFrom({}, "gemini-2.5-flash", { apiKey: "test-key-0", baseUrl });
      const said = await collectEvents(model, modelRequest([HELLO]));
      expect(textOf(partsOf(said))).toBe("Take one, it rains.");
      expect(said.at(-1)).toMatchObject({ type: "finish", reason: "stop" });
      const asked = await collectEvents(
        model,
        modelRequest([{ id: "m1", role: "user", parts: [{ type: "text", text: "Weather?" }] }]),
      );
      expect(partsOf(asked)).toMatchObject([{ type: "tool-call", name: "weather", input: { city: "Oslo" } }]);
      expect(asked.at(-1)).toMatchObject({ type: "finish", reason: "tool-calls" });
    } finally {
      await mock.stop();
    }
  });
});
