import assert from "node:assert/strict";
import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Tool, ToolOutput, Workspace } from "@capstan/core";
import { afterEach, beforeEach, describe, it } from "vitest";
import { temporaryWorkspace, type TemporaryWorkspace } from "../temporary-workspace.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { editTool } from "./edit.ts";
import { multiEditTool } from "./multi-edit.ts";
import { textDiff } from "./text-diff.ts";
import { writeFileTool } from "./write-file.ts";

let fixture: TemporaryWorkspace;
beforeEach(async () => {
  fixture = await temporaryWorkspace();
});
afterEach(() => fixture.close());
const probe = async (tool: Tool, input: unknown) => tool.probe?.(input as never, fixture.context());

describe("write_file", () => {
  it("TOOL-26 creates, replaces, and leaves equal content alone", async () => {
    assert.deepEqual(await fixture.call(writeFileTool, { path: "a/b.txt", content: "one\ntwo\n" }), {
      content: [
        { type: "text", text: "Created a/b.txt (2 lines, 8 bytes)." },
        { type: "diff", path: "a/b.txt", after: "one\ntwo\n" },
      ],
    });
    assert.deepEqual((await fixture.call(writeFileTool, { path: "a/b.txt", content: "x" })).content, [
      { type: "text", text: "Replaced a/b.txt (1 line, 1 byte)." },
      { type: "diff", path: "a/b.txt", before: "one\ntwo\n", after: "x" },
    ]);
    assert.equal(
      await fixture.say(writeFileTool, { path: "a/b.txt", content: "x" }),
      "a/b.txt has this content already. Nothing was written.",
    );
    assert.equal(fixture.contentOf("a/b.txt"), "x");
    assert.deepEqual(readdirSync(join(fixture.root, "a")), ["b.txt"]);
  });

  it("TOOL-38 replaces what it shows as replaced, and nothing that somebody wrote meanwhile", async () => {
    const { workspace } = fixture;
    assert.equal(writeFileTool.body.type, "execute");
    if (writeFileTool.body.type !== "execute") return;
    for (const before of ["one\n", undefined]) {
      if (before !== undefined) fixture.write(`a${before?.length}`, before);
      const path = `a${before?.length}`;
      const slow: Workspace = Object.assign(Object.create(workspace) as Workspace, {
        async read(...given: Parameters<Workspace["read"]>) {
          try {
            return await workspace.read(...given);
          } finally {
            fixture.write(path, "by the user\n");
          }
        },
        write: (...given: Parameters<Workspace["write"]>) => workspace.write(...given),
      });
      const input = { path, content: "by the model\n" };
      const output = await writeFileTool.body.execute(input as never, { ...fixture.context(), workspace: slow });
      assert.equal((output as ToolOutput).isError, true);
      assert.equal(fixture.contentOf(path), "by the user\n");
    }
  });

  it("TOOL-36 refuses paths outside and special places, and creates nothing there", async () => {
    symlinkSync("../work-evil", join(fixture.root, "out"));
    symlinkSync("../work-evil/new", join(fixture.root, "dangling"));
    fixture.write("folder/x", "");
    for (const path of [
      "../work-evil/x",
      "out/x",
      "out/deep/x",
      "dangling",
      "/dev/null",
      "folder",
      "folder/",
      ".",
      "",
      "a\0b",
      "\ud800",
    ]) {
      assert.match(await fixture.say(writeFileTool, { path, content: "x" }), /^ERROR /, JSON.stringify(path));
    }
    assert.deepEqual(readdirSync(join(fixture.folder, "work-evil")), ["secret.txt"]);
  });

  it("G15 takes no second name, so that protected paths cannot hide behind a link", async () => {
    fixture.write(".git/hooks/x", "");
    symlinkSync(".git/hooks", join(fixture.root, "build"));
    const answer = await fixture.say(writeFileTool, { path: "build/pre-commit", content: "evil" });
    assert.match(answer, /^ERROR "build\/pre-commit" is another name of ".git\/hooks\/pre-commit"/);
    assert.deepEqual(readdirSync(join(fixture.root, ".git/hooks")), ["x"]);
  });

  it("refuses broken characters and content over fileBytes", async () => {
    assert.match(await fixture.say(writeFileTool, { path: "a", content: "\ud83d" }), /^ERROR .*half of a character/);
    assert.match(
      await fixture.say(writeFileTool, { path: "a", content: "x".repeat(TOOL_LIMITS.fileBytes + 1) }),
      /^ERROR .*at most 10,485,760/,
    );
    assert.deepEqual(readdirSync(fixture.root), []);
  });

  it("EDGE-01 probes by the content", async () => {
    const input = { path: "a", content: "new" };
    assert.equal(await probe(writeFileTool, input), "did-not");
    fixture.write("a", "something else");
    assert.equal(await probe(writeFileTool, input), "unknown");
    await fixture.call(writeFileTool, input);
    assert.equal(await probe(writeFileTool, input), "happened");
    assert.equal(await probe(writeFileTool, { path: "../x", content: "" }), "unknown");
  });

  it("declares what it touches, and that an interrupt waits for it (LOOP-10)", () => {
    for (const one of [writeFileTool, editTool]) {
      assert.deepEqual([one.kind, one.rerun, one.interruptible, one.builtIn], ["edit", "never", false, true]);
      assert.deepEqual(one.needs({ path: "a/./b/" } as never), [{ type: "write", path: "a/b" }]);
    }
  });
});

describe("edit", () => {
  it("TOOL-26 replaces and shows the change", async () => {
    fixture.write("a.txt", "\uFEFFone\r\ntwo\r\n");
    const output = await fixture.call(editTool, {
      path: "a.txt",
      old_string: "     1\tone\n     2\ttwo",
      new_string: "     1\t1\n     2\t2",
    });
    assert.deepEqual(output.content, [
      { type: "text", text: "Edited a.txt: 1 replacement at line 1." },
      { type: "diff", path: "a.txt", before: "\uFEFFone\r\ntwo\r\n", after: "\uFEFF1\r\n2\r\n" },
    ]);
    assert.equal(fixture.contentOf("a.txt"), "\uFEFF1\r\n2\r\n");
  });

  it("answers with an error that helps, and changes nothing", async () => {
    fixture.write("a.txt", "x\nx\n");
    fixture.write("bin", "x\0");
    const cases = [
      [{ path: "a.txt", old_string: "x", new_string: "y" }, /a\.txt: old_string is in the file 2 times/],
      [{ path: "a.txt", old_string: "q", new_string: "y" }, /not in the file/],
      [{ path: "a.txt", old_string: "", new_string: "y" }, /write_file/],
      [{ path: "bin", old_string: "x", new_string: "y" }, /binary/],
      [{ path: "none", old_string: "x", new_string: "y" }, /There is no/],
      [{ path: "../work-evil/secret.txt", old_string: "secret", new_string: "y" }, /outside/],
      [{ path: "a.txt", old_string: "x\nx", new_string: "\ud800" }, /half of a character/],
    ] as const;
    for (const [input, expected] of cases) {
      const answer = await fixture.say(editTool, input);
      assert.match(answer, /^ERROR /);
      assert.match(answer, expected);
    }
    assert.equal(fixture.contentOf("a.txt"), "x\nx\n");
    assert.equal(fixture.contentOf("../work-evil/secret.txt"), "secret");
  });

  it("TOOL-38 does not write over a change made since it read", async () => {
    fixture.write("a.txt", "one\n");
    const { workspace } = fixture;
    const slow: Workspace = Object.assign(Object.create(workspace) as Workspace, {
      read: async (...given: Parameters<Workspace["read"]>) => {
        const file = await workspace.read(...given);
        writeFileSync(join(fixture.root, "a.txt"), "one\nby the user\n");
        return file;
      },
      write: (...given: Parameters<Workspace["write"]>) => workspace.write(...given),
    });
    assert.equal(editTool.body.type, "execute");
    if (editTool.body.type !== "execute") return;
    const input = { path: "a.txt", old_string: "one", new_string: "1" };
    const output = await editTool.body.execute(input as never, { ...fixture.context(), workspace: slow });
    assert.deepEqual(output, {
      content: [{ type: "text", text: '"a.txt" has changed since it was read. Read it again.' }],
      isError: true,
    });
    assert.equal(fixture.contentOf("a.txt"), "one\nby the user\n");
  });

  it("TOOL-26 loses none of many edits that are made at once, by either tool", async () => {
    const lines = Array.from({ length: 40 }, (_, index) => `line ${index};`);
    fixture.write("a.txt", lines.join("\n"));
    const edit = (at: number) => ({ old_string: `line ${at};`, new_string: `LINE ${at};` });
    const answers = await Promise.all(
      lines.map((_, at) =>
        at % 2 === 0
          ? fixture.say(editTool, { path: "a.txt", ...edit(at) })
          : fixture.say(multiEditTool, { path: "./a.txt", edits: [edit(at)] }),
      ),
    );
    assert.deepEqual(
      answers.filter((answer) => !answer.startsWith("Edited a.txt")),
      [],
    );
    assert.equal(fixture.contentOf("a.txt"), lines.join("\n").toUpperCase());
  });

  it("EDGE-01 probes by the expected text", async () => {
    const input = { path: "a", old_string: "old", new_string: "new" };
    fixture.write("a", "old");
    assert.equal(await probe(editTool, input), "did-not");
    await fixture.call(editTool, input);
    assert.equal(await probe(editTool, input), "happened");
    fixture.write("a", "neither");
    assert.equal(await probe(editTool, input), "unknown");
    assert.equal(await probe(editTool, { ...input, path: "none" }), "unknown");
  });
});

describe("textDiff", () => {
  it("carries only the changed region beyond diffCharacters", () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}`);
    const changed = lines.with(10_000, "changed");
    assert.deepEqual(textDiff("a", lines.join("\n"), changed.join("\n")), {
      type: "diff",
      path: "a",
      before: lines.slice(9_997, 10_004).join("\n"),
      after: changed.slice(9_997, 10_004).join("\n"),
    });
    assert.equal(textDiff("a", "", "x".repeat(1_000_000)).after.length, TOOL_LIMITS.diffCharacters);
    assert.equal(textDiff("a", undefined, "x".repeat(1_000_000)).after.length, TOOL_LIMITS.diffCharacters);
  });
});
