import assert from "node:assert/strict";
import fc from "fast-check";
import { afterEach, beforeEach, describe, it } from "vitest";
import { temporaryWorkspace, type TemporaryWorkspace } from "../temporary-workspace.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import type { Edit } from "./edit-plan.ts";
import { multiEditTool } from "./multi-edit.ts";
import { planEdits, probeEdits } from "./multi-edit-plan.ts";

let fixture: TemporaryWorkspace;
beforeEach(async () => {
  fixture = await temporaryWorkspace();
});
afterEach(() => fixture.close());

const change = (path: string, ...edits: readonly (readonly [string, string, boolean?])[]) => ({
  path,
  edits: edits.map(([old_string, new_string, replace_all]) => ({ old_string, new_string, replace_all })),
});

describe("multi_edit", () => {
  it("TOOL-26 makes all edits in order, each on what the ones before it made, and shows one change", async () => {
    fixture.write("a.txt", "one\r\ntwo\r\nthree\r\n");
    const call = change("a.txt", ["one", "two"], ["two", "2", true], ["     3\tthree", "     3\tthird"]);
    assert.deepEqual((await fixture.call(multiEditTool, call)).content, [
      { type: "text", text: "Edited a.txt: 3 edits, 4 replacements." },
      { type: "diff", path: "a.txt", before: "one\r\ntwo\r\nthree\r\n", after: "2\r\n2\r\nthird\r\n" },
    ]);
    assert.equal(fixture.contentOf("a.txt"), "2\r\n2\r\nthird\r\n");
  });

  it("TOOL-26 changes nothing when one edit cannot be made, and says which", async () => {
    fixture.write("a.txt", "one\ntwo\n");
    fixture.write("bin", "x\0");
    const cases = [
      [change("a.txt", ["one", "1"], ["gone", "x"]), /Edit 2 of 2: old_string is not in the file.*Nothing was changed/],
      [change("a.txt", ["one", "two"], ["two", "x"]), /Edit 2 of 2: old_string is in the file 2 times/],
      [change("a.txt", ["one", "1"], ["1", "one"]), /together change nothing/],
      [change("a.txt", ["one", "\ud83d"]), /edit 1 contains half of a character/],
      [change("a.txt", ["one", "x".repeat(TOOL_LIMITS.fileBytes)]), /The file would have/],
      [change("bin", ["x", "y"]), /binary/],
      [change("none", ["x", "y"]), /There is no/],
      [change("../work-evil/secret.txt", ["secret", "y"]), /outside/],
    ] as const;
    for (const [call, problem] of cases) assert.match(await fixture.say(multiEditTool, call), problem);
    assert.equal(fixture.contentOf("a.txt"), "one\ntwo\n");
    await assert.rejects(fixture.call(multiEditTool, change("a.txt")), /edits/);
  });

  it("declares what it touches, and that an interrupt waits for it (LOOP-10)", () => {
    const { kind, rerun, interruptible, builtIn } = multiEditTool;
    assert.deepEqual([kind, rerun, interruptible, builtIn], ["edit", "never", false, true]);
    assert.deepEqual(multiEditTool.needs(change("a/./b", ["x", "y"])), [{ type: "write", path: "a/b" }]);
  });

  it("EDGE-01 probes by the content of the file", async () => {
    const call = change("a.txt", ["one", "1"], ["two", "2"]);
    const probe = async () => multiEditTool.probe?.(call as never, fixture.context());
    fixture.write("a.txt", "one\ntwo\n");
    assert.equal(await probe(), "did-not");
    await fixture.call(multiEditTool, call);
    assert.equal(await probe(), "happened");
    fixture.write("a.txt", "something else");
    assert.equal(await probe(), "unknown");
  });
});

describe("probeEdits", () => {
  const edits = (...pairs: readonly (readonly [string, string])[]): readonly Edit[] =>
    pairs.map(([oldString, newString]) => ({ oldString, newString, replaceAll: false }));

  it("EDGE-01 tells before from after, also with removals and edits of edits", () => {
    assert.equal(probeEdits("a b", edits(["a", "c"], ["c b", "d"])), "did-not");
    assert.equal(probeEdits("d", edits(["a", "c"], ["c b", "d"])), "happened");
    assert.equal(probeEdits("x old", edits(["old", ""], ["x", "y"])), "unknown");
    assert.equal(probeEdits("y ", edits(["old", ""], ["x", "y"])), "happened");
    assert.equal(probeEdits("import a;", edits(["import a;", "import a;\nimport b;"])), "did-not");
    assert.equal(probeEdits("import a;\nimport b;", edits(["import a;", "import a;\nimport b;"])), "unknown");
    assert.equal(probeEdits("1 two", edits(["one", "1"], ["two", "2"])), "unknown");
  });

  it("EDGE-01 never says did-not after the edits, nor happened before them", () => {
    const unit = fc.constantFrom("a", "b", "\n", "\r\n", "\r", "1\t");
    const one = fc.record({
      oldString: fc.string({ unit, minLength: 1, maxLength: 3 }),
      newString: fc.string({ unit, maxLength: 3 }),
      replaceAll: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 8 }), fc.array(one, { minLength: 1, maxLength: 3 }), (text, all) => {
        const plan = planEdits(text, all);
        if (!plan.ok) return;
        assert.notEqual(probeEdits(text, all), "happened");
        assert.notEqual(probeEdits(plan.text, all), "did-not");
      }),
      { numRuns: 20_000 },
    );
  });
});
