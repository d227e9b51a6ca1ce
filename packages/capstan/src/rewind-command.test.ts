import { spawnSync } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Fact } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { COMMAND, runChild } from "./command-child.ts";
import { call, type CommandSetup, setup, text } from "./command-setup.ts";

/** Runs a program on a pseudo-terminal, types a line when it is asked, and prints all that was shown. */
const ANSWER = `
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
shown, said = b"", False
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    shown += piece
    if not said and b"no (n) > " in shown:
        os.write(fd, sys.argv[1].encode() + b"\\n")
        said = True
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(status))
`;
const hasPython = spawnSync("python3", ["-c", "import pty, os; os.waitstatus_to_exitcode"]).status === 0;

/** One run that writes three files, then a person who changes one of them. */
async function written(): Promise<CommandSetup & { readonly id: string; readonly point: number }> {
  const at = await setup([
    call("read_file", { path: "a.txt" }),
    call("read_file", { path: "b.txt" }),
    call("write_file", { path: "unread.txt", content: "agent" }),
    call("write_file", { path: "a.txt", content: "agent" }),
    call("write_file", { path: "new.txt", content: "agent" }),
    call("write_file", { path: "b.txt", content: "agent" }),
    text("Done."),
  ]);
  await at.put("work/a.txt", "old a");
  await at.put("work/b.txt", "old b");
  await at.put("work/unread.txt", "old");
  const args = ["run", "go", "--model", "anthropic/claude-sonnet-5-5", "--allow", "write_file", "--output", "json"];
  const { code, stdout, stderr } = await at.at.run(args);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const { sessionId: id } = JSON.parse(stdout) as { readonly sessionId: string };
  await at.put("work/b.txt", "a person");
  await at.put("work/unread.txt", "a person");
  const facts = (await at.at.run(["sessions", "export", id])).stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Fact);
  const point = facts.find(({ type }) => type === "run.started")?.seq ?? 0;
  return Object.assign(at, { id, point });
}

describe.concurrent("capstan sessions rewind", { timeout: 120_000 }, () => {
  it("SESS-16 shows what would change, changes nothing without a word, then restores and forks", async () => {
    await using at = await written();
    const { id, point } = at;
    const rewind = (...more: readonly string[]) =>
      at.at.run(["sessions", "rewind", id, "--to", String(point), ...more]);
    const read = (name: string) => readFile(join(at.at.folder, name), "utf8").catch(() => undefined);
    const dry = await rewind("--dry-run");
    expect(dry).toMatchObject({ code: 0, stdout: "" });
    expect(dry.stderr.split("\n").slice(1, 4)).toEqual([
      "  write  a.txt (5 to 5 bytes)",
      "  write  b.txt (8 to 5 bytes): others changed it since",
      "  remove new.txt (5 bytes)",
    ]);
    for (const flags of [[], ["--yes"], ["--changed", "keep"]]) {
      const refused = await rewind(...flags);
      expect(refused).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("nobody to ask") });
    }
    expect([await read("a.txt"), await read("b.txt"), await read("new.txt")]).toEqual(["agent", "a person", "agent"]);
    const kept = await rewind("--yes", "--changed", "keep");
    expect(kept).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ses_\w+\n$/) });
    expect(kept.stdout.trim()).not.toBe(id);
    expect([await read("a.txt"), await read("b.txt"), await read("new.txt")]).toEqual(["old a", "a person", undefined]);
    const again = await rewind("--yes", "--changed", "overwrite");
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining("Restored 1 files") });
    expect(await read("b.txt")).toBe("old b");
    const fork = (await at.at.run(["sessions", "export", kept.stdout.trim()])).stdout.trimEnd().split("\n");
    expect(JSON.parse(fork[0] ?? "")).toMatchObject({ forkedFrom: { sessionId: id, seq: point } });
    expect(fork.some((line) => line.includes('"tool.finished"'))).toBe(false);
  });

  it.skipIf(!hasPython)("SESS-16 asks a person, who may keep or overwrite what others changed", async () => {
    await using at = await written();
    const { env, folder } = at.at;
    const read = (name: string) => readFile(join(folder, name), "utf8");
    const answered = (answer: string) => {
      const rewind = [...COMMAND, "sessions", "rewind", at.id, "--to", String(at.point)];
      return runChild(["python3", "-c", ANSWER, answer, ...rewind], { env: { ...env, TERM: "dumb" }, cwd: folder });
    };
    const no = await answered("n");
    expect(no).toMatchObject({ code: 3, stdout: expect.stringContaining("Nothing was changed.") });
    expect(await answered("what?")).toMatchObject({ code: 3 });
    expect([await read("a.txt"), await read("b.txt")]).toEqual(["agent", "a person"]);
    expect(await answered("y")).toMatchObject({ code: 0, stdout: expect.stringContaining("ses_") });
    expect([await read("a.txt"), await read("b.txt")]).toEqual(["old a", "a person"]);
    expect(await answered("o")).toMatchObject({ code: 0 });
    expect(await read("b.txt")).toBe("old b");
  });

  it("SESS-16 keeps nothing where the settings switch it off", async () => {
    await using at = await setup([call("write_file", { path: "new.txt", content: "agent" }), text("Done.")]);
    await at.put("settings.json", { plugins: { checkpoints: false } });
    const args = ["run", "go", "--model", "anthropic/claude-sonnet-5-5", "--allow", "write_file", "--output", "json"];
    const { sessionId } = JSON.parse((await at.at.run(args)).stdout) as { readonly sessionId: string };
    const dry = await at.at.run(["sessions", "rewind", sessionId, "--to", "1", "--dry-run"]);
    expect(dry).toMatchObject({ code: 0, stderr: expect.stringContaining("no file would change") });
    expect(dry.stderr).toContain("Write new.txt");
  });

  it("SESS-16 says what is wrong: no such session or fact, no folder any more, an agent that asks", async () => {
    await using at = await written();
    const { id } = at;
    const failing = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
      const { code, stderr, stdout } = await at.at.run(["sessions", "rewind", ...args], { env, cwd: at.at.home });
      expect(stdout).toBe("");
      return [code, /\(([a-z-]+)\)\n$/.exec(stderr)?.[1]];
    };
    expect(await failing([id])).toEqual([2, "usage"]);
    expect(await failing([id, "--to", "0"])).toEqual([2, "usage"]);
    expect(await failing([id, "--to", "9999"])).toEqual([2, "cursor-invalid"]);
    expect(await failing(["ses_none", "--to", "1"])).toEqual([2, "session-not-found"]);
    expect(await failing([id, "--to", "1", "--yes"], { CAPSTAN_RUN: "run_1" })).toEqual([1, "permission-denied"]);
    await rm(at.at.folder, { recursive: true });
    expect(await failing([id, "--to", "1", "--yes"])).toEqual([2, "workspace-missing"]);
  });
});
