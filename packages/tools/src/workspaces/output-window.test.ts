import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "vitest";
import { textWindow } from "../text-window.ts";
import { outputWindow } from "./output-window.ts";

const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);

describe("outputWindow", () => {
  it("gives everything back while it fits, cut anywhere", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.array(fc.nat(20)), (text, cuts) => {
        const all = bytes(text);
        const window = outputWindow(10_000);
        let live = "";
        let at = 0;
        for (const size of [...cuts, all.length]) {
          live += window.push(all.subarray(at, at + size));
          at += size;
        }
        assert.deepEqual([live, window.text(), window.truncated], [text, text, false]);
      }),
    );
  });

  it("G12 keeps start and end within its bound, whole characters, and counts what is missing", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 100, maxLength: 300 }),
        fc.integer({ min: 8, max: 90 }),
        (text, limit) => {
          const window = outputWindow(limit);
          for (let at = 0; at < bytes(text).length; at += 7) window.push(bytes(text).subarray(at, at + 7));
          const [, start = "", lost = "", end = ""] =
            /^([^]*)\n\[\.\.\. ([\d,]+) bytes left out \.\.\.\]\n([^]*)$/.exec(window.text()) ?? [];
          assert.ok(text.startsWith(start) && text.endsWith(end));
          assert.equal(bytes(start).length + bytes(end).length + Number(lost.replaceAll(",", "")), bytes(text).length);
          assert.ok(bytes(start).length + bytes(end).length <= limit);
        },
      ),
    );
  });

  it("replaces invalid bytes and the half character at the end", () => {
    const window = outputWindow(100);
    window.push(Uint8Array.of(0x61, 0xff, 0xe2, 0x82));
    assert.equal(window.text(), "a\ufffd\ufffd");
  });

  it("keeps nothing when it may keep nothing", () => {
    const window = outputWindow(0);
    assert.deepEqual(
      [window.push(bytes("abc")), window.text(), window.truncated],
      ["abc", "\n[... 3 bytes left out ...]\n", true],
    );
  });
});

describe("textWindow", () => {
  it("keeps start and end, whole characters, and counts what is missing", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" })), fc.integer({ min: 2, max: 50 }), (chunks, limit) => {
        const window = textWindow(limit);
        for (const chunk of chunks) window.push(chunk);
        const all = chunks.join("");
        assert.equal(window.truncated, all.length > limit);
        if (!window.truncated) return assert.equal(window.text(), all);
        const [, start = "", lost = "", end = ""] =
          /^([^]*)\n\[\.\.\. ([\d,]+) characters left out \.\.\.\]\n([^]*)$/.exec(window.text()) ?? [];
        assert.ok(all.startsWith(start) && all.endsWith(end) && window.text().isWellFormed());
        assert.equal(start.length + end.length + Number(lost.replaceAll(",", "")), all.length);
      }),
    );
  });
});
