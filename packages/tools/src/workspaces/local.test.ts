import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
} from "node:fs";
import { join } from "node:path";
import { CapstanError } from "@capstan/core";
import { afterEach, beforeEach, describe, it, vi } from "vitest";
import { temporaryWorkspace, type TemporaryWorkspace } from "../temporary-workspace.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { localWorkspace } from "./local.ts";
import { newTag } from "./run-tag.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 }); // processes take their time on a busy machine

let fixture: TemporaryWorkspace;
beforeEach(async () => {
  fixture = await temporaryWorkspace();
});
afterEach(() => fixture.close());

const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
const hasCode = (code: string) => (error: unknown) => CapstanError.is(error) && error.code === code;

describe("localWorkspace", () => {
  it("refuses a root that is missing or no folder", async () => {
    fixture.write("file", "x");
    for (const root of ["none", "file", "file/x"]) {
      await assert.rejects(localWorkspace(join(fixture.root, root)), hasCode("workspace-missing"));
    }
  });

  it("says that its root is gone, not that a file is missing", async () => {
    rmSync(fixture.root, { recursive: true });
    const { workspace } = fixture;
    for (const work of [
      () => workspace.stat("x"),
      () => workspace.read("x"),
      () => workspace.list("."),
      () => workspace.write("x", bytes("x")),
    ]) {
      await assert.rejects(work, hasCode("workspace-missing"));
    }
    assert.deepEqual(readdirSync(fixture.folder), ["work-evil"]);
  });

  it("names its kind, its confinement and the real root of a linked one (G18)", async () => {
    const alias = join(fixture.folder, "alias");
    symlinkSync("work", alias);
    const workspace = await localWorkspace(alias);
    fixture.write("a/x", "x");
    assert.deepEqual([workspace.kind, workspace.confinement, workspace.root], ["local", "none", fixture.root]);
    assert.equal(workspace.resolve(join(alias, "a/x")), join(fixture.root, "a/x"));
    assert.equal((await workspace.read(join(alias, "a/x"), { exact: true })).path, "a/x");
    await assert.rejects(workspace.read(join(alias, "../work-evil/secret.txt")), hasCode("path-outside"));
    await workspace.close();
  });

  it.runIf(process.platform === "linux")("does not hand out this process's own descriptors (PERM-18)", async () => {
    const descriptor = openSync(join(fixture.folder, "work-evil/secret.txt"), "r");
    try {
      for (const path of [
        `/proc/self/fd/${descriptor}`,
        `/proc/${process.pid}/fd/${descriptor}`,
        `/dev/fd/${descriptor}`,
        "/proc/self/cwd/package.json",
      ]) {
        await assert.rejects(fixture.workspace.read(path), hasCode("path-outside"));
        await assert.rejects(fixture.workspace.write(path, bytes("x")), hasCode("path-outside"));
      }
    } finally {
      closeSync(descriptor);
    }
  });

  it("refuses a file of many gigabytes by its size (TOOL-36)", async () => {
    fixture.write("huge", "");
    truncateSync(join(fixture.root, "huge"), 40_000_000_000);
    await assert.rejects(fixture.workspace.read("huge"), hasCode("file-too-large"));
    const start = await fixture.workspace.read("huge", { maxBytes: 10, truncate: true });
    assert.deepEqual([start.bytes.length, start.size], [10, 40_000_000_000]);
    await assert.rejects(
      fixture.workspace.write("huge", bytes("x"), { expected: start.hash }),
      hasCode("file-changed"),
    );
  });

  it("reads at most workspaceReadBytes unless told otherwise", async () => {
    fixture.write("file", "");
    truncateSync(join(fixture.root, "file"), TOOL_LIMITS.workspaceReadBytes + 1);
    await assert.rejects(fixture.workspace.read("file"), hasCode("file-too-large"));
    truncateSync(join(fixture.root, "file"), TOOL_LIMITS.workspaceReadBytes);
    assert.equal((await fixture.workspace.read("file")).bytes.length, TOOL_LIMITS.workspaceReadBytes);
  });

  it("refuses paths over pathCharacters", async () => {
    const longest = "./".repeat(TOOL_LIMITS.pathCharacters / 2 - 1) + "xy";
    fixture.write("xy", "1");
    assert.equal((await fixture.workspace.stat(longest)).path, "xy");
    await assert.rejects(fixture.workspace.stat(`.${longest}`), hasCode("path-invalid"));
  });

  it("breaks hard links when it writes: the other name keeps its bytes", async () => {
    fixture.write("a", "old");
    linkSync(join(fixture.root, "a"), join(fixture.folder, "other"));
    await fixture.workspace.write("a", bytes("new"));
    assert.deepEqual([fixture.contentOf("a"), fixture.contentOf("../other")], ["new", "old"]);
  });

  it("keeps mode bits but no set-user-id", async () => {
    fixture.write("a", "old");
    chmodSync(join(fixture.root, "a"), 0o4640);
    await fixture.workspace.write("a", bytes("new"));
    assert.equal(statSync(join(fixture.root, "a")).mode & 0o7777, 0o640);
  });

  it.runIf(process.getuid?.() !== 0)("leaves a read-only file alone", async () => {
    fixture.write("a", "old");
    chmodSync(join(fixture.root, "a"), 0o444);
    await assert.rejects(fixture.workspace.write("a", bytes("new")), hasCode("permission-denied"));
    assert.equal(fixture.contentOf("a"), "old");
  });

  it("leaves no temporary file when a write is refused or aborted (LOOP-11)", async () => {
    fixture.write("a", "old");
    const signal = AbortSignal.abort(new Error("stop"));
    await assert.rejects(fixture.workspace.write("a", bytes("new"), { signal }), /stop/);
    await assert.rejects(fixture.workspace.read("a", { signal }), /stop/);
    await assert.rejects(fixture.workspace.list(".", { signal }), /stop/);
    await assert.rejects(fixture.workspace.write("a", bytes("new"), { expected: "0" }), hasCode("file-changed"));
    assert.deepEqual(readdirSync(fixture.root), ["a"]);
    assert.equal(fixture.contentOf("a"), "old");
  });

  it("removes what writes of a process that was killed left behind, and nothing else", async () => {
    const living = `.capstan-${newTag()}.tmp`;
    const dead = `.capstan-${newTag().replace(/\.\d+(\.[^.]+)$/, ".1$1")}.tmp`; // of a process with this number and another start
    for (const name of [living, dead, ".capstan-notes.tmp"]) fixture.write(`folder/${name}`, "half");
    await fixture.workspace.write("folder/a", bytes("x"));
    const left = process.platform === "linux" ? [living, ".capstan-notes.tmp"] : [living, dead, ".capstan-notes.tmp"];
    assert.deepEqual(readdirSync(join(fixture.root, "folder")).toSorted(), [...left, "a"].toSorted());
  });

  it("lets one of many writers that expect the same bytes win", async () => {
    for (let round = 0; round < 20; round += 1) {
      fixture.write("a", "start");
      const { hash } = await fixture.workspace.read("a");
      const writers = Array.from({ length: 8 }, (_, index) =>
        fixture.workspace.write("a", bytes(`writer ${index}`), { expected: hash }).then(() => `writer ${index}`),
      );
      const won = (await Promise.allSettled(writers)).filter((end) => end.status === "fulfilled");
      assert.equal(won.length, 1);
      assert.equal(fixture.contentOf("a"), won[0]?.value);
    }
  });

  it("shows a reader either the old or the new bytes, never a mixture", async () => {
    const versions = ["a", "b"].map((letter) => letter.repeat(200_000));
    fixture.write("file", versions[0] ?? "");
    let done = false;
    const writing = (async () => {
      for (let turn = 0; turn < 40; turn += 1) await fixture.workspace.write("file", bytes(versions[turn % 2] ?? ""));
      done = true;
    })();
    while (!done) assert.ok(versions.includes(new TextDecoder().decode((await fixture.workspace.read("file")).bytes)));
    await writing;
  });

  it("lets one of many writers that expect the file to be missing win", async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) =>
        fixture.workspace.write("new", bytes(String(index)), { expected: null }),
      ),
    );
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
    assert.deepEqual(readdirSync(fixture.root), ["new"]);
  });

  it("leaks no descriptor, whatever fails", async () => {
    mkdirSync(join(fixture.root, "folder"));
    symlinkSync("../work-evil", join(fixture.root, "out"));
    const open = (): number => readdirSync("/proc/self/fd").length;
    const paths = ["out/secret.txt", "none", "folder", "out", "folder/none/x", "/dev/null", "a\0"];
    const round = async (): Promise<void> => {
      for (const path of paths) {
        await Promise.allSettled([
          fixture.workspace.read(path),
          fixture.workspace.stat(path),
          fixture.workspace.list(path),
          fixture.workspace.write(path, bytes("x"), { expected: "0" }),
          fixture.workspace.run(["/none"], {
            cwd: path,
            timeoutMs: 1_000,
            maxOutputBytes: 10,
            signal: new AbortController().signal,
          }),
        ]);
      }
    };
    await round();
    const before = open();
    for (let turn = 0; turn < 5; turn += 1) await round();
    assert.ok(open() <= before + 1, `${before} descriptors before, ${open()} after`);
  });
});

/** Without a pause makes `d` lead inside or outside, `f` a file or a link to the secret, and `e` a folder or a link. */
const SWAPPER = `
  const fs = require("node:fs");
  const put = (make, name) => { make("next"); fs.renameSync("next", name); };
  process.stdout.write("ready");
  for (;;) {
    try {
      put((next) => fs.symlinkSync("../work-evil", next), "d");
      put((next) => fs.symlinkSync("real", next), "d");
      put((next) => fs.symlinkSync("../work-evil/secret.txt", next), "f");
      put((next) => fs.writeFileSync(next, "inside"), "f");
      fs.renameSync("e", "kept"); fs.symlinkSync("../work-evil", "e"); fs.unlinkSync("e"); fs.renameSync("kept", "e");
    } catch {
      for (const name of ["next", "kept", "e"]) fs.rmSync(name, { recursive: true, force: true });
      fs.mkdirSync("e", { recursive: true });
      fs.writeFileSync("e/secret.txt", "inside");
    }
  }
`;

describe("localWorkspace against a process that swaps names for links (PERM-18, G17)", () => {
  it("never reads or writes outside", async () => {
    fixture.write("real/secret.txt", "inside");
    fixture.write("f", "inside");
    symlinkSync("real", join(fixture.root, "d"));
    const swapper = spawn(process.execPath, ["-e", SWAPPER], {
      cwd: fixture.root,
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await once(swapper.stdout, "data");
      const seen = await raced(4_000);
      assert.ok(seen.good > 0 && seen.refused > 0, `the race was real: ${JSON.stringify(seen)}`);
    } finally {
      const gone = once(swapper, "exit");
      swapper.kill("SIGKILL");
      await gone;
    }
    assert.deepEqual(readdirSync(join(fixture.folder, "work-evil")), ["secret.txt"]);
    assert.equal(readFileSync(join(fixture.folder, "work-evil/secret.txt"), "utf8"), "secret");
  });

  async function raced(turns: number): Promise<{ good: number; refused: number }> {
    const { workspace } = fixture;
    const seen = { good: 0, refused: 0 };
    const attempt = async (work: () => Promise<unknown>): Promise<void> => {
      try {
        await work();
        seen.good += 1;
      } catch (error) {
        const codes = ["path-outside", "path-not-found", "file-changed"] as const;
        assert.ok(CapstanError.is(error, ...codes), String(error));
        seen.refused += 1;
      }
    };
    const read = async (path: string): Promise<void> => {
      const text = new TextDecoder().decode((await workspace.read(path)).bytes);
      assert.notEqual(text, "secret");
    };
    for (let turn = 0; turn < turns && !(turn > 100 && seen.good > 100 && seen.refused > 100); turn += 1) {
      await attempt(() => read("f"));
      await attempt(() => read("d/secret.txt"));
      await attempt(() => read("e/secret.txt"));
      if (turn % 4 === 0) {
        await attempt(() => workspace.write("f", bytes("inside")));
        await attempt(() => workspace.write("d/secret.txt", bytes("inside")));
        await attempt(() => workspace.write(`d/deep${turn}/new`, bytes("inside")));
        await attempt(() => workspace.write("e/secret.txt", bytes("inside")));
        await attempt(() => workspace.write(`e/deep${turn}/new`, bytes("inside")));
        await attempt(async () => assert.ok((await workspace.list("d")).every(({ path }) => !path.includes("evil"))));
      }
    }
    return seen;
  }
});
