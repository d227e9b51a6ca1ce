import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { CapstanError, type Clock, LIMITS, systemClock } from "@capstan/core";
import { afterEach, describe, it, vi } from "vitest";
import { globTool } from "./files/glob.ts";
import { grepTool } from "./files/grep.ts";
import { shellTools } from "./shell.ts";
import { temporaryWorkspace, type TemporaryWorkspace } from "./temporary-workspace.ts";
import { TOOL_LIMITS } from "./tool-limits.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 }); // processes take their time on a busy machine

const fixtures: TemporaryWorkspace[] = [];
afterEach(async () => {
  for (const fixture of fixtures.splice(0)) {
    assert.deepEqual(fixture.processes(), []);
    await fixture.close();
  }
});
async function open(clock: Clock = systemClock): Promise<TemporaryWorkspace> {
  const fixture = await temporaryWorkspace({ clock });
  fixtures.push(fixture);
  return fixture;
}

/** The system's clock, on which one wait is over at once. */
function hurried(waitMs: number): Clock {
  return { ...systemClock, after: (ms, fire, options) => systemClock.after(ms === waitMs ? 100 : ms, fire, options) };
}

describe("TOOL_LIMITS", () => {
  it("fit the limits of the loop", () => {
    assert.ok(TOOL_LIMITS.killGraceMs < LIMITS.interruptGraceMs);
    assert.ok(TOOL_LIMITS.killGraceMs + TOOL_LIMITS.killMs + TOOL_LIMITS.drainMs < 5_000, "G10");
    assert.ok(
      TOOL_LIMITS.readCharacters < LIMITS.toolOutputBytes && TOOL_LIMITS.grepCharacters < LIMITS.toolOutputBytes,
    );
    assert.ok(TOOL_LIMITS.shellMaxTimeoutMs <= LIMITS.toolTimeoutMs);
  });

  it("shellTimeoutMs is what a command has that names no time-out", async () => {
    const { say } = await open(hurried(TOOL_LIMITS.shellTimeoutMs));
    const [shell] = shellTools();
    assert.ok(shell);
    const answer = await say(shell, { command: "sleep 5000" });
    assert.equal(answer, "ERROR [timed out after 120000 ms and was ended with everything it started]");
  });

  it("searchTimeoutMs ends a search that hangs: an ignore file that is a pipe nobody writes to", async () => {
    const { root, say, write } = await open(hurried(TOOL_LIMITS.searchTimeoutMs));
    write("a.txt", "needle");
    execFileSync("mkfifo", [join(root, ".gitignore")]);
    assert.equal(await say(globTool, { pattern: "*" }), "(stopped after 30 s; there may be more)");
    assert.equal(await say(grepTool, { pattern: "needle" }), "(stopped after 30 s; there may be more)");
  });

  it("folderEntries bounds a listing", async () => {
    const { root, workspace } = await open();
    const make = (from: number, to: number): void =>
      void execFileSync("/bin/sh", ["-c", `seq -w ${from} ${to} | xargs touch`], { cwd: root });
    make(1, TOOL_LIMITS.folderEntries);
    assert.equal((await workspace.list(".")).length, TOOL_LIMITS.folderEntries);
    make(100_000, 100_000);
    await assert.rejects(workspace.list("."), (error) => CapstanError.is(error, "file-too-large"));
  });

  it("settleMs, killGraceMs and drainMs bound the end of a command whose children linger", async () => {
    const { workspace } = await open();
    const run = async (command: string): Promise<number> => {
      const signal = new AbortController().signal;
      const argv = ["/bin/bash", "-c", command];
      return (await workspace.run(argv, { timeoutMs: 20_000, maxOutputBytes: 100, signal })).durationMs;
    };
    const stubborn = await run("(trap '' TERM; sleep 5000; sleep 5000) & exit 0");
    assert.ok(stubborn >= TOOL_LIMITS.settleMs + TOOL_LIMITS.killGraceMs - 5, String(stubborn));
    const most = TOOL_LIMITS.settleMs + TOOL_LIMITS.killGraceMs + TOOL_LIMITS.killMs + TOOL_LIMITS.drainMs;
    assert.ok(stubborn < most, String(stubborn));
  });
});
