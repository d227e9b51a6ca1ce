import { CapstanError, type ModelEvent } from "@capstan/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { responseDecoder } from "./decode.ts";

function decode(data: readonly string[]): readonly ModelEvent[] {
  const toError = (): CapstanError => new CapstanError("model-failed", "It broke");
  const decoder = responseDecoder({ modelId: "m", price: undefined, toError });
  const events = data.flatMap((item) => [...decoder.push([{ data: item }])]);
  return [...events, ...decoder.end()];
}

describe("responseDecoder", () => {
  it("merges the deltas of one block in a batch and no others", () => {
    const decoder = responseDecoder({
      modelId: "m",
      price: undefined,
      toError: () => new CapstanError("model-failed", ""),
    });
    const chunk = (text: string, thought = false): { readonly data: string } => ({
      data: JSON.stringify({ candidates: [{ content: { parts: [{ text, ...(thought && { thought }) }] } }] }),
    });
    decoder.push([chunk("")]);
    expect(decoder.push([chunk("a"), chunk("b"), chunk(""), chunk("t", true), chunk("c")])).toEqual([
      { type: "block-start", index: 0, block: { type: "text" } },
      { type: "block-delta", index: 0, delta: "ab" },
      { type: "block-end", index: 0, part: { type: "text", text: "ab" } },
      { type: "block-start", index: 1, block: { type: "reasoning" } },
      { type: "block-delta", index: 1, delta: "t" },
      { type: "block-end", index: 1, part: { type: "reasoning", text: "t" } },
      { type: "block-start", index: 2, block: { type: "text" } },
      { type: "block-delta", index: 2, delta: "c" },
    ]);
    expect(decoder.push([chunk("d")])).toEqual([{ type: "block-delta", index: 2, delta: "d" }]);
  });

  it("keeps a signed file and an empty signed text apart", () => {
    const part = (value: object): string => JSON.stringify({ candidates: [{ content: { parts: [value] } }] });
    const inlineData = { mimeType: "image/png", data: "aGk=" };
    const seals = decode([
      part({ inlineData, thoughtSignature: "s1" }),
      part({ inlineData }),
      part({ text: "", thoughtSignature: "s2" }),
    ]).flatMap((event) => (event.type === "block-end" && event.part.type === "opaque" ? [event.part.seal.data] : []));
    expect(seals).toEqual([
      { signature: "s1", tail: 0, of: "file", model: "m" },
      { signature: "s2", tail: 0, model: "m" },
    ]);
  });

  it("G25 takes anything for a chunk: events in their order, or a typed error", () => {
    const part = fc.record(
      {
        text: fc.oneof(fc.string(), fc.jsonValue()),
        thought: fc.oneof(fc.boolean(), fc.jsonValue()),
        thoughtSignature: fc.oneof(fc.string(), fc.jsonValue()),
        functionCall: fc.oneof(fc.record({ name: fc.string(), args: fc.jsonValue() }), fc.jsonValue()),
        inlineData: fc.jsonValue(),
        other: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const chunk = fc.record(
      {
        candidates: fc.oneof(
          fc.array(
            fc.record(
              {
                content: fc.oneof(fc.record({ parts: fc.array(part, { maxLength: 3 }) }), fc.jsonValue()),
                finishReason: fc.oneof(fc.constantFrom("STOP", "MAX_TOKENS", "MALFORMED_RESPONSE"), fc.jsonValue()),
                index: fc.jsonValue(),
              },
              { requiredKeys: [] },
            ),
            { maxLength: 2 },
          ),
          fc.jsonValue(),
        ),
        usageMetadata: fc.jsonValue(),
        promptFeedback: fc.jsonValue(),
        error: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(chunk, fc.jsonValue()), { maxLength: 6 }), (chunks) => {
        try {
          const events = decode(chunks.map((value) => JSON.stringify(value)));
          const open = new Set<number>();
          for (const [at, event] of events.entries()) {
            if (event.type === "block-start") open.add(event.index);
            if (event.type === "block-delta") expect(open.has(event.index)).toBe(true);
            if (event.type === "block-end") open.delete(event.index);
            if (event.type === "finish") expect([at, open.size]).toEqual([events.length - 1, 0]);
          }
        } catch (error) {
          if (!CapstanError.is(error)) throw error;
        }
      }),
      { numRuns: 500 },
    );
  });
});
