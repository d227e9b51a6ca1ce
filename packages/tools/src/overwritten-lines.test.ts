import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "vitest";
import { visibleOutput } from "./overwritten-lines.ts";

function shown(...chunks: readonly (string | readonly [stream: string, chunk: string])[]) {
  let text = "";
  const output = visibleOutput((part) => {
    text += part;
  });
  for (const chunk of chunks) {
    if (typeof chunk === "string") output.push("stdout", chunk);
    else output.push(...chunk);
  }
  output.end();
  return { text, dropped: output.dropped };
}

describe("visibleOutput", () => {
  it("keeps what was written last on a line, and the line ends of other systems", () => {
    assert.deepEqual(shown("1%\r2%\r3%\ndone"), { text: "3%\ndone", dropped: 6 });
    assert.deepEqual(shown("\r1%", "\r2%", "\r3%", "\n"), { text: "3%\n", dropped: 7 });
    assert.deepEqual(shown("1%\r", "2%\r", "3%\r", "\n"), { text: "3%\r\n", dropped: 6 });
    assert.deepEqual(shown("a\r\nb\r", "\nc\r\r\n"), { text: "a\r\nb\r\nc\r\r\n", dropped: 0 });
    assert.deepEqual(shown("\r", "\r\n"), { text: "\r\r\n", dropped: 0 });
  });

  it("keeps the order of two streams", () => {
    assert.equal(shown("x\r1%", ["stderr", "failed\n"], "\r2%\n").text, "1%failed\n2%\n");
  });

  it("G12 holds little back of a line that never ends", () => {
    let taken = 0;
    const output = visibleOutput((part) => {
      taken += part.length;
    });
    for (let index = 0; index < 1_000; index += 1) output.push("stdout", index === 0 ? "\r" : "x".repeat(100));
    assert.ok(taken > 90_000);
  });

  it("loses and doubles nothing, however the text is cut", () => {
    const pieces = fc.array(fc.constantFrom("a", "bc", "\r", "\n", "\r\n", "x".repeat(3_000)), { maxLength: 30 });
    const chunks = fc.array(
      fc.tuple(
        fc.constantFrom("stdout", "stderr"),
        pieces.map((all) => all.join("")),
      ),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(chunks, (given) => {
        const whole = given.map(([, chunk]) => chunk).join("");
        const { text, dropped } = shown(...given);
        assert.equal(text.length + dropped, whole.length);
        const isPlain = !/\r(?!\r*(?:\n|$))/.test(whole);
        if (isPlain) assert.equal(text, whole);
        assert.equal(text.split("\n").length, whole.split("\n").length);
      }),
    );
  });
});
