import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import {
  CapstanError,
  type RunOutcome,
  systemClock,
  textOf,
  type Tool,
  type ToolOutput,
  type Workspace,
} from "@capstan/core";
import { afterEach, beforeEach, describe, it, vi } from "vitest";
import { temporaryWorkspace, type TemporaryWorkspace } from "../temporary-workspace.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { parseGlob } from "./glob-pattern.ts";
import { globTool } from "./glob.ts";
import { grepTool } from "./grep.ts";
import { listTool } from "./list-folder.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 }); // processes take their time on a busy machine

let fixture: TemporaryWorkspace;
beforeEach(async () => {
  fixture = await temporaryWorkspace();
});
afterEach(async () => {
  assert.deepEqual(fixture.processes(), []);
  await fixture.close();
});

const matches = (pattern: string, path: string): boolean => {
  const glob = parseGlob(pattern);
  assert.ok(typeof glob !== "string");
  return glob.matches(path);
};
const problemOf = (pattern: string): string => {
  const glob = parseGlob(pattern);
  return typeof glob === "string" ? glob : "";
};

describe("parseGlob", () => {
  it("TOOL-27 matches what globs match", () => {
    const yes = [
      ["*.ts", "a.ts"],
      ["*.ts", "deep/er/a.ts"],
      ["./*.ts", "a.ts"],
      ["src/**/*.ts", "src/a.ts"],
      ["src/**/*.ts", "src/x/y/a.ts"],
      ["src/**", "src/x/y"],
      ["**/x", "x"],
      ["**", "a/b"],
      ["a?c", "aéc"],
      ["a?c", "a😀c"],
      ["[a-c]x", "bx"],
      ["[!a-c]x", "dx"],
      ["[]x]", "]"],
      ["[a", "[a"],
      ["a{b,c{d,e}}f", "acef"],
      ["{a}", "{a}"],
      ["{a", "{a"],
      [String.raw`\*`, "*"],
      ["*", ".hidden"],
      ["a/b/", "a/b"],
      ["-x*", "-x"],
      ["a*b*c", "a/x".replace("/x", "xbxc")],
    ] as const;
    const no = [
      ["./*.ts", "src/a.ts"],
      ["src/*.ts", "src/x/a.ts"],
      ["src/**", "src"],
      ["src/**", "srcx/a"],
      ["a?c", "ac"],
      ["a*c", "a/c"],
      [String.raw`\*`, "x"],
      ["[a-c]x", "dx"],
      ["{a,b}", "c"],
      ["*.TS", "a.ts"],
      ["(a|b)", "a"],
    ] as const;
    for (const [pattern, path] of yes) assert.ok(matches(pattern, path), `${pattern} should match ${path}`);
    for (const [pattern, path] of no) assert.ok(!matches(pattern, path), `${pattern} should not match ${path}`);
  });

  it("G11 takes no pattern that could run for ever", () => {
    const started = systemClock.monotonic();
    matches(`${"*a".repeat(400)}b`, "a".repeat(4_000));
    matches(`${"**/".repeat(300)}x`, "a/".repeat(2_000));
    matches("{*a,*aa}".repeat(8), "a".repeat(4_000));
    assert.ok(systemClock.monotonic() - started < 3_000);
    assert.match(problemOf("{a,b}".repeat(9)), /more than 256/);
    matches("{".repeat(500) + ",".repeat(499), "a");
    assert.match(problemOf("x".repeat(TOOL_LIMITS.globCharacters + 1)), /longer than 1000/);
  });

  it("refuses patterns that cannot match, with what to do", () => {
    assert.match(problemOf(""), /empty/);
    assert.match(problemOf("/etc/*"), /leave out the first slash/);
    assert.match(problemOf("a/../../*"), /set path/);
  });
});

describe("glob", () => {
  it("TOOL-27 finds files by path order, hidden ones too, without .git, ignored files and links", async () => {
    for (const name of ["b.ts", "a/z.ts", "a/.hidden.ts", ".git/x.ts", "build/y.ts", "-rf.ts", "two\nlines.ts"])
      fixture.write(name, "");
    fixture.write(".gitignore", "build/\n");
    symlinkSync("../work-evil", join(fixture.root, "out"));
    symlinkSync("b.ts", join(fixture.root, "link.ts"));
    assert.equal(
      await fixture.say(globTool, { pattern: "**/*.ts" }),
      '-rf.ts\na/.hidden.ts\na/z.ts\nb.ts\n"two\\nlines.ts"',
    );
    assert.equal(await fixture.say(globTool, { pattern: "*.ts", path: "a" }), "a/.hidden.ts\na/z.ts");
    assert.equal(await fixture.say(globTool, { pattern: "*.txt" }), "No file matches.");
  });

  it("PERM-18 searches no folder outside", async () => {
    symlinkSync("../work-evil", join(fixture.root, "out"));
    for (const path of ["out", "..", "/etc", "../work-evil"]) {
      assert.match(await fixture.say(globTool, { pattern: "*", path }), /^ERROR .*outside/);
      assert.match(await fixture.say(grepTool, { pattern: "secret", path }), /^ERROR .*outside/);
    }
    mkdirSync(join(fixture.root, "real"));
    symlinkSync("real", join(fixture.root, "alias"));
    assert.match(
      await fixture.say(globTool, { pattern: "*", path: "alias" }),
      /^ERROR "alias" is another name of "real"/,
    );
  });

  it("shows at most globFiles", async () => {
    for (let index = 0; index <= TOOL_LIMITS.globFiles; index += 1) fixture.write(`f/${index}`, "");
    const output = await fixture.call(globTool, { pattern: "*" });
    const text = output.content[0]?.type === "text" ? output.content[0].text.split("\n") : [];
    assert.deepEqual(
      [text.length, text.at(-1), output.truncated],
      [1_001, "(only the first 1000 are shown; use a narrower pattern or path)", true],
    );
  });

  it("LOOP-11 throws the reason when it is aborted", async () => {
    const stop = AbortSignal.abort(new Error("stop"));
    await assert.rejects(fixture.call(globTool, { pattern: "*" }, stop), /stop/);
    await assert.rejects(fixture.call(grepTool, { pattern: "x" }, stop), /stop/);
    await assert.rejects(fixture.call(listTool, {}, stop), /stop/);
  });
});

describe("grep", () => {
  it("TOOL-27 shows lines, files or counts", async () => {
    fixture.write("a.ts", "one\nneedle 1\ntwo\n");
    fixture.write("b/c.md", "needle 2\r\nneedle 3\n");
    assert.equal(
      await fixture.say(grepTool, { pattern: "needle \\d" }),
      "a.ts:2:needle 1\nb/c.md:1:needle 2\nb/c.md:2:needle 3",
    );
    assert.equal(await fixture.say(grepTool, { pattern: "needle", output: "files" }), "a.ts\nb/c.md");
    assert.equal(await fixture.say(grepTool, { pattern: "needle", output: "count" }), "a.ts:1\nb/c.md:2");
    assert.equal(await fixture.say(grepTool, { pattern: "needle", path: "b" }), "b/c.md:1:needle 2\nb/c.md:2:needle 3");
    assert.equal(
      await fixture.say(grepTool, { pattern: "needle", path: "b/c.md", limit: 1 }),
      "b/c.md:1:needle 2\n(there are more; use a narrower pattern, path or glob, or a higher limit)",
    );
    assert.equal(await fixture.say(grepTool, { pattern: "needle", glob: "*.ts" }), "a.ts:2:needle 1");
    assert.equal(await fixture.say(grepTool, { pattern: "needle", glob: "!*.ts", output: "files" }), "b/c.md");
    assert.equal(
      await fixture.say(grepTool, { pattern: "needle", path: "a.ts", context: 1 }),
      "a.ts-1-one\na.ts:2:needle 1\na.ts-3-two",
    );
    assert.equal(await fixture.say(grepTool, { pattern: "NEEDLE 1", ignoreCase: true }), "a.ts:2:needle 1");
    assert.equal(await fixture.say(grepTool, { pattern: "needle \\d", literal: true }), "No line matches.");
  });

  it("searches hidden files, not .git, ignored files, links and binary files", async () => {
    for (const name of [".hidden", ".git/x", "build/x", "a\nb"]) fixture.write(name, "needle\n");
    fixture.write(".gitignore", "build/\n");
    fixture.write("bin", "needle\n\0\0");
    symlinkSync("../work-evil/secret.txt", join(fixture.root, "link"));
    symlinkSync("/etc", join(fixture.root, "etc"));
    execFileSync("mkfifo", [join(fixture.root, "pipe")]);
    assert.equal(await fixture.say(grepTool, { pattern: "needle|secret|root:" }), '.hidden:1:needle\n"a\\nb":1:needle');
    for (const glob of ["*", "**", "**/*", "!none", "{*,build/**}", "**/x", "build/*"]) {
      const found = await fixture.say(grepTool, { pattern: "needle", output: "files", glob });
      assert.equal(found, /x$|^b/.test(glob) ? "No line matches." : '.hidden\n"a\\nb"', glob);
    }
    assert.equal(await fixture.say(grepTool, { pattern: "needle", path: "build", glob: "x" }), "build/x:1:needle");
    assert.equal(await fixture.say(grepTool, { pattern: "needle", path: "a\nb" }), '"a\\nb":1:needle');
  });

  it("TOOL-27 takes the globs of glob, and says what is wrong with one", async () => {
    for (const name of ["a.ts", "b.tsx", "src/a.ts", "src/deep/c.tsx", "src/deep/[x].ts"])
      fixture.write(name, "needle\n");
    const cases = [
      ["*.{ts,tsx}", ["a.ts", "b.tsx", "src/a.ts", "src/deep/[x].ts", "src/deep/c.tsx"]],
      ["src/*.ts", ["src/a.ts"]],
      ["src/**", ["src/a.ts", "src/deep/[x].ts", "src/deep/c.tsx"]],
      ["src/**/*.{ts,tsx}", ["src/a.ts", "src/deep/[x].ts", "src/deep/c.tsx"]],
      ["{src/deep/c,b}.tsx", ["b.tsx", "src/deep/c.tsx"]],
      ["./*.ts", ["a.ts"]],
      ["\\[x\\].ts", ["src/deep/[x].ts"]],
      ["!src/**", ["a.ts", "b.tsx"]],
    ] as const;
    for (const [glob, names] of cases) {
      assert.equal(await fixture.say(grepTool, { pattern: "needle", output: "files", glob }), names.join("\n"), glob);
    }
    assert.equal(
      await fixture.say(grepTool, { pattern: "needle", path: "src", glob: "deep/*", output: "count" }),
      "src/deep/[x].ts:1\nsrc/deep/c.tsx:1",
    );
    assert.match(await fixture.say(grepTool, { pattern: "x", glob: "/src/*" }), /^ERROR glob: The pattern is relative/);
  });

  it("TOOL-27 finds the end of a line whatever ends it", async () => {
    fixture.write("dos", "needle\r\nneedles\r\n");
    fixture.write("unix", "needle\nneedles\n");
    assert.equal(await fixture.say(grepTool, { pattern: "needle$" }), "dos:1:needle\nunix:1:needle");
  });

  it("never says that nothing matches when the search did not come to its end", async () => {
    fixture.write("a.ts", "needle\n");
    const { workspace } = fixture;
    const ended = async (end: Partial<RunOutcome>, tool: Tool): Promise<ToolOutput> => {
      const broken: Workspace = Object.assign(Object.create(workspace) as Workspace, {
        resolve: (path: string) => workspace.resolve(path),
        stat: (path: string) => workspace.stat(path),
        run: async () => ({ exitCode: 0, exitSignal: null, killedBy: null, stdout: "", stderr: "", ...end }),
      });
      if (tool.body.type !== "execute") throw new Error("no execute");
      const input = { pattern: "needle" };
      return (await tool.body.execute(input as never, { ...fixture.context(), workspace: broken })) as ToolOutput;
    };
    for (const tool of [grepTool, globTool]) {
      const killed = await ended({ exitCode: null, exitSignal: "SIGKILL" }, tool);
      assert.deepEqual(
        [killed.isError, textOf(killed.content)],
        [true, "The search failed: ripgrep was ended by SIGKILL"],
      );
      assert.match(textOf((await ended({ exitCode: 2 }, tool)).content), /matches\.\n\(some .* could not be read\)$/);
    }
  });

  it("G14 makes no option of a pattern, a glob or a file name", async () => {
    const canary = join(fixture.folder, "canary");
    fixture.write("pre.sh", `#!/bin/sh\ntouch ${canary}\n`);
    fixture.write("--pre=.sh", "needle\n");
    fixture.write(".ripgreprc", "--pre=./pre.sh\n");
    const program = join(fixture.root, "pre.sh");
    execFileSync("chmod", ["+x", program]);
    for (const pattern of [
      `--pre=${program}`,
      "-f/etc/passwd",
      "--files",
      "-",
      "--",
      "-e",
      "--hostname-bin=x",
      "-uuu",
    ]) {
      assert.doesNotMatch(await fixture.say(grepTool, { pattern, literal: true }), /ERROR|root:/, pattern);
      assert.doesNotMatch(await fixture.say(grepTool, { pattern: "needle", glob: pattern }), /root:/, pattern);
      await fixture.say(grepTool, { pattern: "needle", path: pattern });
      await fixture.say(globTool, { pattern });
    }
    assert.equal(await fixture.say(grepTool, { pattern: "needle", path: "--pre=.sh" }), "--pre=.sh:1:needle");
    assert.throws(() => fixture.contentOf("../canary"), /ENOENT/);
  });

  it("answers bad patterns with ripgrep's own words", async () => {
    fixture.write("a", "x".repeat(50_000));
    assert.match(await fixture.say(grepTool, { pattern: "(" }), /^ERROR The search failed:[^]*unclosed group/);
    assert.match(await fixture.say(grepTool, { pattern: "x{1000}{1000}{1000}" }), /^ERROR [^]*size limit/);
    assert.match(await fixture.say(grepTool, { pattern: "a\nb" }), /^ERROR [^]*not allowed in a regex$/);
    assert.match(await fixture.say(grepTool, { pattern: "a(?=b)" }), /^ERROR [^]*is not supported$/);
    assert.match(await fixture.say(grepTool, { pattern: "a\0b" }), /^ERROR The pattern contains/);
    assert.equal(await fixture.say(grepTool, { pattern: "(x+x+)+y" }), "No line matches.");
  });

  it("G12 bounds lines, their length and the whole", async () => {
    fixture.write("many", "needle\n".repeat(5_000));
    const many = await fixture.call(grepTool, { pattern: "needle" });
    assert.equal(many.truncated, true);
    assert.equal((await fixture.say(grepTool, { pattern: "needle" })).split("\n").length, TOOL_LIMITS.grepLines + 1);
    assert.equal(
      (await fixture.say(grepTool, { pattern: "needle", limit: TOOL_LIMITS.grepMaxLines })).split("\n").length,
      2_001,
    );
    await assert.rejects(fixture.call(grepTool, { pattern: "x", limit: TOOL_LIMITS.grepMaxLines + 1 }), /limit/);
    fixture.write("wide", `needle ${"x".repeat(5_000_000)}`);
    assert.ok(
      (await fixture.say(grepTool, { pattern: "needle", path: "wide" })).length < TOOL_LIMITS.grepLineCharacters + 200,
    );
    fixture.write("wide", `needle ${"ü".repeat(1_000)}\n`.repeat(1_000));
    assert.ok(
      (await fixture.say(grepTool, { pattern: "needle", path: "wide", limit: 2_000 })).length <
        TOOL_LIMITS.grepCharacters + 200,
    );
  });

  it("TOOL-36 says that a file is too large to be searched", async () => {
    fixture.write("huge", "needle\n");
    truncateSync(join(fixture.root, "huge"), TOOL_LIMITS.grepFileBytes + 1);
    assert.match(
      await fixture.say(grepTool, { pattern: "needle", path: "huge" }),
      /^ERROR The file has 10,485,761 bytes/,
    );
    assert.equal(await fixture.say(grepTool, { pattern: "needle" }), "No line matches.");
  });

  it("declares what it touches", () => {
    assert.deepEqual(
      [grepTool.kind, grepTool.rerun, globTool.kind, globTool.rerun],
      ["search", "safe", "search", "safe"],
    );
    assert.deepEqual(grepTool.needs({ pattern: "x" } as never), [{ type: "read", path: "." }]);
    assert.deepEqual(globTool.needs({ pattern: "x", path: "a/../b" } as never), [{ type: "read", path: "b" }]);
  });
});

describe("list", () => {
  it("TOOL-27 lists a folder", async () => {
    fixture.write("b/x", "");
    fixture.write("a", "12345");
    fixture.write("two\nlines", "");
    symlinkSync("/etc", join(fixture.root, "z"));
    assert.equal(
      await fixture.say(listTool, {}),
      'a\t5\nb/\n"two\\nlines"\t0\nz\t(special, or a link that leads nowhere or outside)',
    );
    assert.equal(await fixture.say(listTool, { path: "b" }), "x\t0");
    mkdirSync(join(fixture.root, "empty"));
    assert.equal(await fixture.say(listTool, { path: "empty" }), "empty is empty.");
    assert.match(await fixture.say(listTool, { path: "a" }), /^ERROR "a" is a file, not a folder/);
  });

  it("says how to look into a folder with too many entries", async () => {
    const full: Workspace = Object.assign(Object.create(fixture.workspace) as Workspace, {
      list: () => Promise.reject(new CapstanError("file-too-large", 'The folder "x" has more than 20,000 entries')),
    });
    if (listTool.body.type !== "execute") throw new Error("no execute");
    const output = await listTool.body.execute({ path: "x" } as never, { ...fixture.context(), workspace: full });
    assert.equal(
      textOf((output as ToolOutput).content),
      'The folder "x" has more than 20,000 entries. Use glob with a pattern.',
    );
  });

  it("shows at most listEntries", async () => {
    for (let index = 0; index < TOOL_LIMITS.listEntries + 2; index += 1) fixture.write(`f/${index}`, "");
    assert.match(await fixture.say(listTool, { path: "f" }), /\n\(2 more not shown; use glob\)$/);
  });
});
