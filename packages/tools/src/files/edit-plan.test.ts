import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "vitest";
import { planEdit, probeEdit, type Edit } from "./edit-plan.ts";

const edit = (oldString: string, newString: string, replaceAll = false): Edit => ({ oldString, newString, replaceAll });
function after(text: string, change: Edit): string {
  const plan = planEdit(text, change);
  return plan.ok ? plan.text : `PROBLEM ${plan.problem}`;
}

describe("planEdit", () => {
  it("TOOL-26 replaces the one occurrence, or all of them", () => {
    assert.equal(after("a b c", edit("b", "$& $1")), "a $& $1 c");
    assert.equal(after("b a b", edit("b", "xb", true)), "xb a xb");
    assert.deepEqual(planEdit("1\nx\n3\nx\n", edit("x", "y", true)), {
      ok: true,
      text: "1\ny\n3\ny\n",
      replaced: 2,
      lines: [2, 4],
    });
  });

  it("TOOL-26 refuses what is there several times, overlaps included, and says where", () => {
    assert.match(after("x\ny\nx\n", edit("x", "z")), /2 times \(lines 1, 3\).*replace_all/);
    assert.match(after("\n\n\n", edit("\n\n", "\n")), /2 times/);
  });

  it("refuses empty and equal texts", () => {
    assert.match(after("x", edit("", "y")), /empty/);
    assert.match(after("x", edit("x", "x")), /same/);
  });

  it("helps to find what was nearly right", () => {
    const text = "function a() {\n    return 1;\n}\n";
    assert.match(
      after(text, edit("function a() {\n  return 1;\n}", "x")),
      /begins at line 1 differs only in white space/,
    );
    assert.match(
      after(text, edit("function a() {\n    return 2;\n}", "x")),
      /begins at line 1 differs from your line 2 on/,
    );
    assert.match(after(text, edit("nothing like it", "x")), /not in the file\. Read/);
  });

  it("TOOL-24 ignores line numbers pasted from read_file, in both texts", () => {
    const text = "one\n  two\nthree\n";
    assert.equal(
      after(text, edit("     2\t  two\n     3\tthree", "     2\t  TWO\n     3\tthree")),
      "one\n  TWO\nthree\n",
    );
    assert.equal(after(text, edit("     2\t  two\n", "  2\n")), "one\n  2\nthree\n");
    assert.equal(after(text, edit("2\t  two", "  TWO")), "one\n  TWO\nthree\n");
  });

  it("TOOL-24 takes numbers that belong to the file as they are", () => {
    assert.equal(after("1\ta\n2\tb\n", edit("1\ta\n2\tb", "1\tx\n2\ty")), "1\tx\n2\ty\n");
    assert.match(after("a\nb\n", edit("7\ta\n3\tb", "x")), /not in the file/);
  });

  it("keeps CRLF, the mark and single other line ends", () => {
    assert.equal(after("\uFEFFa\r\nb\r\nc\r\n", edit("a\nb", "x\ny\nz")), "\uFEFFx\r\ny\r\nz\r\nc\r\n");
    assert.equal(after("a\r\nb\r\n", edit("b", "x\ny")), "a\r\nx\r\ny\r\n");
    assert.equal(after("a\nb\nc\r\nd\ne\n", edit("c\nd", "x\ny")), "a\nb\nx\r\ny\ne\n");
    assert.equal(after("a\nb\n", edit("a\r\nb", "x\r\ny")), "x\ny\n");
    assert.equal(after("a\rb\rc", edit("a\nb", "x\ny\nz")), "x\ry\rz\rc");
  });
});

describe("probeEdit", () => {
  it("EDGE-01 tells before from after", () => {
    assert.equal(probeEdit("a new c", edit("old", "new")), "happened");
    assert.equal(probeEdit("a old c", edit("old", "new")), "did-not");
    assert.equal(probeEdit("a c", edit("old", "new")), "unknown");
    assert.equal(probeEdit("a c", edit("old", "")), "happened");
    assert.equal(probeEdit("old", edit("old", "")), "unknown"); // also what is left of "ooldld"
    assert.equal(probeEdit("a;b", edit(";", "")), "did-not");
    assert.equal(probeEdit("<p></p>", edit("<p></p>", "")), "unknown");
    assert.equal(probeEdit("a\n\nb", edit("\n\n", "")), "unknown");
    assert.equal(probeEdit("one\nTWO\n", edit("     2\ttwo", "     2\tTWO")), "happened");
    assert.equal(probeEdit("a\r\nb\r\n", edit("x\ny", "a\nb")), "happened");
  });

  it("EDGE-01 does not take the old text inside the new one for an edit that did not happen", () => {
    assert.equal(probeEdit("import a;\nimport b;", edit("import a;", "import a;\nimport b;")), "unknown");
    assert.equal(probeEdit("import a;", edit("import a;", "import a;\nimport b;")), "did-not");
    assert.equal(probeEdit("ab", edit("ab", "b")), "unknown");
    assert.equal(probeEdit("xa xa", edit("a", "xa", true)), "unknown");
    assert.equal(probeEdit("a xa", edit("a", "xa", true)), "did-not");
    const mixed = planEdit("\r\n1\t1\t\n\n1\t1\t", edit("\n1\t", "\n\n", true));
    assert.equal(probeEdit(mixed.ok ? mixed.text : "", edit("\n1\t", "\n\n", true)), "unknown");
  });

  it("EDGE-01 never says did-not after an edit, nor happened before it", () => {
    const unit = fc.constantFrom("a", "b", "\n", "\r\n", "\r", "1\t");
    const letters = fc.string({ unit, maxLength: 8 });
    const some = fc.string({ unit, minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(letters, some, fc.string({ unit, maxLength: 4 }), fc.boolean(), (text, from, to, all) => {
        const change = edit(from, to, all);
        const plan = planEdit(text, change);
        if (!plan.ok) return;
        assert.notEqual(probeEdit(text, change), "happened");
        assert.notEqual(probeEdit(plan.text, change), "did-not");
      }),
      { numRuns: 20_000 },
    );
  });
});
