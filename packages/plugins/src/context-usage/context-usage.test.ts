import { agent, jsonSchema, type Message, text, tool } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { contextUsage, type ContextUsage, watchContext } from "./index.ts";

const words = (tokens: number): string => "four".repeat(tokens);
const callId = "r/1/0";
const messages: readonly Message[] = [
  { id: "compaction/9", role: "user", parts: [text(words(10))] },
  {
    id: "1",
    role: "user",
    parts: [text(words(20)), { type: "file", mediaType: "image/png", data: { type: "base64", base64: "AA==" } }],
  },
  {
    id: "2",
    role: "assistant",
    parts: [
      { type: "reasoning", text: words(30) },
      { type: "tool-call", callId, name: "read", input: {}, by: "capstan" },
    ],
  },
  {
    id: "3",
    role: "user",
    parts: [{ type: "tool-result", callId, name: "read", output: { content: [text(words(400))] } }],
  },
];
const request = { system: words(7), tools: [{ name: "read", description: words(50), inputSchema: {} }], messages };

describe("contextUsage", () => {
  it("CTX-07 says what fills the context, by category, and adds up", () => {
    const usage = contextUsage(request, { contextTokens: 10_000 });
    expect(usage).toMatchObject({ system: 7, summaries: 26, reasoning: 30, files: 5_000, messages: 20 + 3 * 16 });
    expect(usage.toolResults).toBeGreaterThan(400);
    expect(usage.tools).toBeGreaterThan(50);
    expect(usage.toolCalls).toBeGreaterThan(0);
    const { total, free, ...parts } = usage;
    expect(Object.values(parts).reduce((sum, size) => sum + size, 0)).toBe(total);
    expect(free).toBe(10_000 - total);
  });

  it.each([0, 1, 999, 12_345])(
    "CTX-07 is scaled to the %i tokens that a provider counted, to the last one",
    (total) => {
      const { total: shown, free, ...parts } = contextUsage(request, { total, contextTokens: 1_000 });
      expect(shown).toBe(total);
      expect(Object.values(parts).reduce((sum, size) => sum + size, 0)).toBe(total);
      expect(free).toBe(Math.max(0, 1_000 - total));
      expect(Object.values(parts).every((size) => Number.isSafeInteger(size) && size >= 0)).toBe(true);
    },
  );

  it("CTX-07 of nothing is nothing", () => {
    expect(contextUsage({ system: "", tools: [], messages: [] }).total).toBe(0);
  });
});

describe("watchContext", () => {
  it("CTX-07 shows what each request holds, and its failure stops nothing", async () => {
    const shown: ContextUsage[] = [];
    const show = (usage: ContextUsage): void => {
      shown.push(usage);
      throw new Error("no screen");
    };
    const echo = tool({
      name: "echo",
      description: "Says it.",
      input: jsonSchema<object>({ type: "object" }),
      rerun: "safe",
      execute: () => words(500),
    });
    const script = [{ calls: [{ name: "echo", input: {} }] }, { text: "Done." }];
    const model = scriptedModel(script, { capabilities: { contextTokens: 4_000 } });
    const worker = agent({ name: "worker", model, instructions: "x", tools: [echo], plugins: [watchContext(show)] });
    const runtime = await testRuntime({ agents: [worker] });
    expect(await (await runtime.send(worker, "Go")).text()).toBe("Done.");
    expect(shown.map(({ toolResults }) => toolResults > 500)).toEqual([false, true]);
    expect(shown[1]?.free).toBe(4_000 - (shown[1]?.total ?? 0));
    await runtime.close();
  });
});
