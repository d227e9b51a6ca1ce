import type { ModelEvent } from "@capstan/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { objectOf, parseJson } from "../provider/json.ts";
import { responseDecoder } from "./decode.ts";
import { plainTextReader } from "./plain-text.ts";

const ENDS = '"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":5},"modelVersion":"m"}';

function chunk(text: string, more = ""): string {
  return `{"candidates":[{"content":{"parts":[{"text":${JSON.stringify(text)}${more}}],${ENDS}`;
}

function learned(data: string) {
  const reader = plainTextReader();
  reader.learn(data, objectOf(parseJson(data)));
  return reader;
}

describe("plainTextReader", () => {
  it("reads what is written like a chunk that was parsed, and remembers its counts", () => {
    const reader = learned(chunk("a"));
    expect(reader.takeUsage()).toBeUndefined();
    expect(reader.read(chunk("Wörld \u{1F600}").replace("5", "6"))).toEqual({ kind: "text", text: "Wörld \u{1F600}" });
    expect(reader.takeUsage()).toEqual({ promptTokenCount: 6 });
    expect(reader.takeUsage()).toBeUndefined();
    expect(learned(chunk("a", ',"thought":true')).read(chunk("b", ',"thought":true'))).toEqual({
      kind: "reasoning",
      text: "b",
    });
  });

  it("leaves everything else to the parser", () => {
    const reader = learned(chunk("a"));
    for (const data of [
      chunk('quote "'),
      chunk("new\nline"),
      chunk("b", ',"thought":true'),
      chunk("b", ',"thoughtSignature":"s"'),
      chunk("b").replace('"index":0', '"finishReason":"STOP","index":0'),
      chunk("b").replace('"modelVersion"', '"promptFeedback":{"blockReason":"SAFETY"},"modelVersion"'),
      chunk("b").replace('"modelVersion"', '"error":{},"modelVersion"'),
      "{}",
      "",
    ])
      expect(reader.read(data)).toBeUndefined();
  });

  it("learns from nothing but a chunk of one text", () => {
    for (const data of [
      chunk("b", ',"thoughtSignature":"s"'),
      chunk("b").replace('"index":0', '"finishReason":"STOP","index":0'),
      chunk("").replace("text", "functionCall"),
      chunk(""),
      '{"usageMetadata":{}}',
    ])
      expect(learned(data).read(data)).toBeUndefined();
  });

  it("gives the same events as the parser alone", () => {
    const piece = fc.record({
      text: fc.oneof(fc.string(), fc.constantFrom('"', "\\", "role", "usageMetadata", "]}", "")),
      more: fc.constantFrom("", "", "", ',"thought":true', ',"thoughtSignature":"s"'),
    });
    const events = (data: readonly string[]): readonly ModelEvent[] => {
      const decoder = responseDecoder({ modelId: "m", price: undefined, toError: () => new Error() as never });
      return [...data.flatMap((item) => [...decoder.push([{ data: item }])]), ...decoder.end()];
    };
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const end = '{"candidates":[{"finishReason":"STOP"}]}';
        const data = [...pieces.map(({ text, more }) => chunk(text, more)), end];
        // Another spacing in every chunk: none looks like the one before.
        const spaced = data.map((item, index) => `${" ".repeat(index)}${item}`);
        expect(events(data)).toEqual(events(spaced));
      }),
      { numRuns: 300 },
    );
  });
});
