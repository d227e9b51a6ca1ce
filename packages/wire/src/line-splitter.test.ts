import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Line, lineSplitter } from "./line-splitter.ts";

function split(bytes: Uint8Array, sizes: readonly number[], maxBytes?: number): readonly Line[] {
  const splitter = lineSplitter(maxBytes);
  const lines: Line[] = [];
  let at = 0;
  for (const size of sizes) {
    lines.push(...splitter.push(bytes.subarray(at, at + size)));
    at += size;
  }
  return [...lines, ...splitter.push(bytes.subarray(at)), ...splitter.end()];
}

describe("lineSplitter", () => {
  it("STREAM-06 gives the same lines whatever pieces the bytes come in", () => {
    const text = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.constant("\n"), fc.constant("\r\n")));
    fc.assert(
      fc.property(text, fc.array(fc.nat({ max: 9 })), (parts, sizes) => {
        const bytes = Buffer.from(parts.join(""));
        const whole = bytes
          .toString("utf8")
          .split("\n")
          .map((line) => line.trim())
          .filter((line) => line !== "");
        expect(split(bytes, sizes)).toEqual(whole.map((line) => ({ type: "line", text: line })));
      }),
      { numRuns: 50 },
    );
  });

  it("tells a line that is too long or no text, and reads the next one", () => {
    const bytes = Buffer.concat([
      Buffer.from(`${"x".repeat(11)}\n${"y".repeat(10)}\n`),
      Buffer.from([0xff, 0x0a]),
      Buffer.from("last"),
    ]);
    for (const sizes of [[], [3, 3, 3, 3, 3], [11], [12]]) {
      expect(split(bytes, sizes, 10)).toEqual([
        { type: "too-long" },
        { type: "line", text: "y".repeat(10) },
        { type: "not-utf8" },
        { type: "line", text: "last" },
      ]);
    }
  });
});
