import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "vitest";
import { temporaryWorkspace, type TemporaryWorkspace } from "../temporary-workspace.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { linesFrom } from "./file-text.ts";
import { readFileTool } from "./read-file.ts";

let fixture: TemporaryWorkspace;
beforeEach(async () => {
  fixture = await temporaryWorkspace();
});
afterEach(() => fixture.close());
const read = readFileTool();

describe("read_file", () => {
  it("TOOL-23 numbers the lines", async () => {
    fixture.write("a.txt", "one\n\ntwo\n");
    assert.equal(await fixture.say(read, { path: "a.txt" }), "     1\tone\n     2\t\n     3\ttwo");
  });

  it("TOOL-23 takes offset and limit and says how to go on", async () => {
    fixture.write("a.txt", "1\n2\n3\n4\n5");
    const output = await fixture.call(read, { path: "a.txt", offset: 2, limit: 2 });
    assert.deepEqual(output, {
      content: [{ type: "text", text: "     2\t2\n     3\t3\n(lines 2 to 3 of 5; go on with offset 4)" }],
      truncated: true,
    });
    assert.equal(await fixture.say(read, { path: "a.txt", offset: 5 }), "     5\t5");
  });

  it("TOOL-23 says that a file is empty, and that an offset is beyond the end", async () => {
    fixture.write("empty", "");
    fixture.write("mark", "\uFEFF");
    fixture.write("one", "x\n");
    assert.equal(await fixture.say(read, { path: "empty" }), "empty is empty.");
    assert.equal(await fixture.say(read, { path: "mark" }), "mark is empty.");
    assert.equal(
      await fixture.say(read, { path: "one", offset: 2 }),
      "ERROR one has 1 line: offset 2 is beyond its end.",
    );
  });

  it("TOOL-23 shows at most readLines lines", async () => {
    fixture.write("long", "x\n".repeat(TOOL_LIMITS.readLines + 1));
    const lines = (await fixture.say(read, { path: "long" })).split("\n");
    assert.equal(lines.length, TOOL_LIMITS.readLines + 1);
    assert.equal(lines.at(-1), "(lines 1 to 2000 of 2001; go on with offset 2001)");
    await assert.rejects(fixture.call(read, { path: "long", limit: TOOL_LIMITS.readLines + 1 }), /limit/);
  });

  it("TOOL-23 cuts lines after readLineCharacters, never inside a character", async () => {
    const line = "x".repeat(TOOL_LIMITS.readLineCharacters - 1) + "😀";
    fixture.write("wide", `${"y".repeat(TOOL_LIMITS.readLineCharacters)}\n${line}`);
    const [first, second] = (await fixture.say(read, { path: "wide" })).split("\n");
    assert.equal(first, `     1\t${"y".repeat(2_000)}`);
    assert.equal(second, `     2\t${"x".repeat(1_999)} [... 2 more characters]`);
  });

  it("stops before the line that would exceed readCharacters", async () => {
    fixture.write("wide", `${"y".repeat(1_990)}\n`.repeat(200));
    const output = await fixture.say(read, { path: "wide" });
    assert.ok(output.length < TOOL_LIMITS.readCharacters + 100);
    assert.match(output, /\(lines 1 to 100 of 200; go on with offset 101\)$/);
  });

  it("TOOL-24 leaves the numbers out for one call or for an agent", async () => {
    fixture.write("a.txt", "one\ntwo");
    const plain = readFileTool({ lineNumbers: false });
    assert.equal(await fixture.say(read, { path: "a.txt", lineNumbers: false }), "one\ntwo");
    assert.equal(await fixture.say(plain, { path: "a.txt" }), "one\ntwo");
    assert.equal(await fixture.say(plain, { path: "a.txt", lineNumbers: true }), "     1\tone\n     2\ttwo");
    assert.notEqual(plain.description, read.description);
  });

  it("shows text with a byte order mark and CRLF without them", async () => {
    fixture.write("dos.txt", "\uFEFFone\r\ntwo\r\n");
    assert.equal(await fixture.say(read, { path: "dos.txt" }), "     1\tone\n     2\ttwo");
    fixture.write("old-mac.txt", "one\rtwo\r");
    assert.equal(await fixture.say(read, { path: "old-mac.txt" }), "     1\tone\n     2\ttwo");
    fixture.write("log", "1%\r2%\ndone\n");
    assert.equal(await fixture.say(read, { path: "log" }), "     1\t1%\r2%\n     2\tdone");
  });

  it("TOOL-23 counts all lines of a text of millions and gives the ones that are asked for", () => {
    assert.deepEqual(linesFrom("x\n".repeat(3_000_000), 2_999_999, 2_000), { lines: ["x", "x"], all: 3_000_000 });
    assert.deepEqual(linesFrom("a\r\n\n\rb", 1, 9), { lines: ["a", "", "\rb"], all: 3 });
    assert.deepEqual(linesFrom("", 1, 9), { lines: [], all: 0 });
  });

  it("refuses what is no UTF-8 text, as a result for the model", async () => {
    fixture.write("nul", "a\0b");
    fixture.write("nuls", new Uint8Array(5_000));
    fixture.write("latin1", Uint8Array.of(0x67, 0x72, 0xfc, 0xdf));
    fixture.write("surrogate", Uint8Array.of(0xed, 0xa0, 0x80));
    fixture.write("utf16", Uint8Array.of(0xff, 0xfe, 0x61, 0x00));
    for (const path of ["nul", "nuls"]) {
      assert.equal(await fixture.say(read, { path }), `ERROR ${path} is a binary file: it contains NUL bytes.`);
    }
    assert.match(await fixture.say(read, { path: "utf16" }), /^ERROR utf16 is UTF-16 text\. Convert a copy .*iconv/);
    for (const path of ["latin1", "surrogate"])
      assert.match(await fixture.say(read, { path }), /^ERROR .* is not UTF-8 text/);
  });

  it("TOOL-36 refuses a huge file with advice", async () => {
    fixture.write("huge", "");
    truncateSync(join(fixture.root, "huge"), TOOL_LIMITS.fileBytes + 1);
    const answer = await fixture.say(read, { path: "huge" });
    assert.match(answer, /^ERROR "huge" has 10,485,761 bytes; at most 10,485,760 are read\. Use grep /);
  });

  it("TOOL-36 answers every bad path with a result that says what to do", async () => {
    mkdirSync(join(fixture.root, "folder"));
    symlinkSync("../work-evil/secret.txt", join(fixture.root, "out"));
    const answers = {
      none: /^ERROR There is no "none"\. List the folder/,
      folder: /^ERROR "folder" is a folder/,
      out: /^ERROR "out" leads outside the workspace\. Use a path inside/,
      "../work-evil/secret.txt": /^ERROR .* leads outside/,
      "/dev/zero": /^ERROR .* leads outside/,
      "": /^ERROR The path "" is empty/,
      "a\0": /^ERROR The path "a\\u0000" contains a NUL/,
    };
    for (const [path, expected] of Object.entries(answers)) assert.match(await fixture.say(read, { path }), expected);
  });

  it("G15 takes no second name of a file: permission is decided on names", async () => {
    fixture.write(".git/config", "x");
    symlinkSync(".git", join(fixture.root, "innocent"));
    assert.equal(
      await fixture.say(read, { path: "innocent/config" }),
      'ERROR "innocent/config" is another name of ".git/config". Use that path, so that permission is decided on it.',
    );
  });

  it("LOOP-11 throws the reason when it is aborted", async () => {
    fixture.write("a", "x");
    await assert.rejects(fixture.call(read, { path: "a" }, AbortSignal.abort(new Error("stop"))), /stop/);
  });

  it("declares what it touches", () => {
    assert.deepEqual([read.kind, read.rerun, read.builtIn], ["read", "safe", true]);
    assert.deepEqual(read.needs({ path: "./a/../.git//config" } as never), [{ type: "read", path: ".git/config" }]);
    assert.equal(read.title({ path: "a\u202e\n" } as never), String.raw`Read "a\u{202e}\n"`);
  });
});
