import { describe, expect, it } from "vitest";
import { fromText, toText } from "./text.ts";

describe("toText", () => {
  it("gives every string a text of its own that fromText turns back", () => {
    const odd = ["", "a", '"', '"a"', "\ud800", '"\\ud800"', "\ud801", "👩‍👩‍👧", "\u0000", "\ufffd"];
    const texts = odd.map(toText);
    expect(new Set(texts).size).toBe(odd.length);
    expect(texts.every((text) => text.isWellFormed())).toBe(true);
    expect(texts.map(fromText)).toEqual(odd);
  });
});
