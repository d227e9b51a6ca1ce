import Anthropic from "@anthropic-ai/sdk";
import { textOf } from "@capstan/core";
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anthropic } from "./anthropic.ts";
import { sseReader } from "./sse.ts";
import { anthropicServer, collectEvents, modelRequest, partsOf, type ReplyBlock } from "./testing/index.ts";

const content: readonly ReplyBlock[] = [
  { type: "thinking", thinking: "Wetter, später ☔" },
  { type: "text", text: "Ich schaue nach: 𝔘mbrella?", deltas: ["Ich ", "schaue nach", ": 𝔘mbrella?"] },
  { type: "tool_use", name: "weather", input: { city: "Oslo", nested: { list: [1, 2, "drei"] } } },
  { type: "tool_use", name: "weather", input: {} },
];

describe("anthropic beside the vendor's own client", () => {
  for (const chunkBytes of [1, 7, 64, 100_000]) {
    it(`MODEL-01 reads the same message from the same bytes, ${chunkBytes} at a time`, async () => {
      await using server = await anthropicServer(() => ({ content, delivery: { chunkBytes } }));
      const theirs = await new Anthropic({ apiKey: "test-key-0", baseURL: server.url, maxRetries: 0 }).messages
        .stream({ model: "claude-sonnet-5-5", max_tokens: 100, messages: [{ role: "user", content: "Umbrella?" }] })
        .finalMessage();
      const model = anthropic("claude-sonnet-5-5", { apiKey: "test-key-0", baseUrl: server.url });
      const ours = partsOf(
        await collectEvents(
          model,
          modelRequest([{ id: "m1", role: "user", parts: [{ type: "text", text: "Umbrella?" }] }]),
        ),
      );
      const calls = ours.flatMap((part) => (part.type === "tool-call" ? [{ name: part.name, input: part.input }] : []));
      const uses = theirs.content.flatMap((block) =>
        block.type === "tool_use" ? [{ name: block.name, input: block.input }] : [],
      );
      expect(calls).toEqual(uses);
      expect(textOf(ours)).toBe(theirs.content.map((block) => (block.type === "text" ? block.text : "")).join(""));
      const thought = theirs.content.find((block) => block.type === "thinking");
      expect(ours.find((part) => part.type === "reasoning")?.text).toBe(thought?.thinking);
    });
  }
});

describe("sseReader beside eventsource-parser", () => {
  it("gives the same events for the same text, wherever it is cut", () => {
    const line = fc.constantFrom(
      "data: a",
      "data:b",
      "data",
      "event: x",
      "id: 7",
      ": note",
      "",
      "data:  two",
      "retry: 1",
      "field",
    );
    const end = fc.constantFrom("\n", "\r\n", "\r");
    fc.assert(
      fc.property(
        fc.array(fc.tuple(line, end), { maxLength: 12 }),
        fc.array(fc.nat(80), { maxLength: 5 }),
        (lines, cuts) => {
          const text = `${lines.map(([value, stop]) => value + stop).join("")}\n\n`;
          const expected: { event: string | undefined; data: string }[] = [];
          const parser = createParser({ onEvent: ({ event, data }) => expected.push({ event, data }) });
          parser.feed(text);
          const bytes = new TextEncoder().encode(text);
          const places = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length];
          const reader = sseReader();
          const found = places.slice(1).flatMap((to, index) => [...reader.push(bytes.subarray(places[index], to))]);
          expect(found.map(({ event, data }) => ({ event, data }))).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });
});
