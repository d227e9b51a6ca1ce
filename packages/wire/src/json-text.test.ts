import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "./json-text.ts";
import { parseStdioRequest } from "./stdio-request.ts";
import { parseUiPost } from "./ui-post.ts";
import { WIRE_LIMITS } from "./wire-limits.ts";

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

describe("parseJson", () => {
  it("reads what JSON.parse reads, up to its depth", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 20 }), (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
    expect(parseJson(nested(WIRE_LIMITS.jsonDepth))).toBeDefined();
    expect(parseJson(JSON.stringify("[".repeat(10_000) + '"\\'))).toBe("[".repeat(10_000) + '"\\');
    for (const text of [nested(WIRE_LIMITS.jsonDepth + 1), nested(1_000_000), "{", "", "undefined", '"\\u00']) {
      expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: "input-invalid" }));
    }
  });
});

describe("the depth of JSON", () => {
  it("counts no bracket of a string, whatever quotes and backslashes are in it", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("\\", '"', "[", "]", "{", "}", "a")), (characters) => {
        const text = JSON.stringify(characters.join(""));
        const within = `[${text},${nested(WIRE_LIMITS.jsonDepth - 1)},{${text}:${text}}]`;
        expect(parseJson(within)).toEqual(JSON.parse(within));
        expect(() => parseJson(`[${text},${nested(WIRE_LIMITS.jsonDepth)}]`)).toThrow(/deep/);
      }),
    );
  });
});

describe("parsers of what clients send", () => {
  it("take or refuse anything with a typed error", () => {
    const anything = fc.oneof(
      fc.anything(),
      fc.record({
        id: fc.anything(),
        kind: fc.constantFrom("user_message", "respond", "subscribe", "hello"),
        message: fc.anything(),
        images: fc.anything(),
        answer: fc.anything(),
      }),
      fc.record({
        id: fc.string(),
        messages: fc.array(fc.record({ role: fc.constantFrom("user", "assistant"), parts: fc.array(fc.anything()) })),
      }),
    );
    fc.assert(
      fc.property(anything, (value) => {
        const text = JSON.stringify(value) ?? "";
        const parsed = parseStdioRequest(text);
        if ("error" in parsed) expect(["input-invalid", "input-too-large"]).toContain(parsed.error.code);
        try {
          expect(parseUiPost(text === "" ? undefined : JSON.parse(text)).id).toEqual(expect.any(String));
        } catch (error) {
          expect(error).toMatchObject({ code: "input-invalid" });
        }
      }),
      { numRuns: 200 },
    );
  });
});
