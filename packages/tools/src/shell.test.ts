import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { textOf } from "@capstan/core";
import { afterEach, beforeEach, describe, it, vi } from "vitest";
import { codingTools } from "./coding-tools.ts";
import { findBash, shellTools } from "./shell.ts";
import { temporaryWorkspace, type TemporaryWorkspace } from "./temporary-workspace.ts";
import { TOOL_LIMITS } from "./tool-limits.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 }); // processes take their time on a busy machine

const [shell] = shellTools();
let fixture: TemporaryWorkspace;
beforeEach(async () => {
  fixture = await temporaryWorkspace();
});
afterEach(async () => {
  assert.deepEqual(fixture.processes(), []);
  await fixture.close();
});

function say(
  command: string,
  options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
): Promise<string> {
  assert.ok(shell);
  const { signal, ...rest } = options;
  return fixture.say(shell, { command, ...rest }, signal);
}

describe("shell", () => {
  it("TOOL-28 runs bash in the workspace and answers with its output", async () => {
    assert.equal(await say("pwd; [[ -n $BASH_VERSION ]] && echo bash"), `${fixture.root}\nbash\n`);
    assert.equal(await say("true"), "(no output)");
    assert.equal(await say("echo out; sleep 0.05; echo err >&2; sleep 0.05; echo out"), "out\nerr\nout\n");
  });

  it("TOOL-28 tells the exit code and the signal, as an error", async () => {
    assert.equal(await say("echo no; exit 3"), "ERROR no\n[exit code 3]");
    assert.equal(await say("exit 1"), "ERROR [exit code 1]");
    assert.equal(await say("printf x; kill -TERM $$"), "ERROR x\n[ended by SIGTERM]");
  });

  it("TOOL-28 ends at the time-out with everything it started", async () => {
    const answer = await say("echo on; setsid sleep 5000 & trap '' TERM; while :; do sleep 5000; done", {
      timeoutMs: 200,
    });
    assert.equal(answer, "ERROR on\n[timed out after 200 ms and was ended with everything it started]");
  });

  it("LOOP-11 ends when it is interrupted, and does not start when it was before", async () => {
    assert.ok(shell);
    const abort = new AbortController();
    const context = { ...fixture.context(abort.signal), progress: () => abort.abort(new Error("stop")) };
    assert.equal(shell.body.type, "execute");
    if (shell.body.type !== "execute") return;
    const output = await shell.body.execute({ command: "echo on; sleep 5000" } as never, context);
    assert.deepEqual(output, {
      content: [{ type: "text", text: "on\n[interrupted and ended with everything it started]" }],
      isError: true,
    });
    await assert.rejects(say("touch started", { signal: abort.signal }), /stop/);
    assert.equal(existsSync(join(fixture.root, "started")), false);
  });

  it("says that background processes were ended", async () => {
    assert.equal(
      await say("sleep 5000 & echo started"),
      "started\n[1 background process still ran when the command ended, and had to be ended]",
    );
  });

  it("G12 cuts long output in the middle, at shellCharacters", async () => {
    assert.ok(shell);
    const output = await fixture.call(shell, {
      command: "printf START; head -c 1000000 /dev/zero | tr '\\0' x; printf END",
    });
    const text = textOf(output.content);
    assert.equal(output.truncated, true);
    assert.match(text, /^STARTx+\n\[\.\.\. 970,008 characters left out \.\.\.\]\nx+END$/);
    assert.ok(text.length < TOOL_LIMITS.shellCharacters + 100);
  });

  it("TOOL-09 shows output live, up to shellProgressCharacters", async () => {
    await say("echo out; echo err >&2");
    assert.deepEqual(
      fixture.progress.toSorted((a, b) => (a.stream ?? "").localeCompare(b.stream ?? "")),
      [
        { stream: "stderr", chunk: "err\n" },
        { stream: "stdout", chunk: "out\n" },
      ],
    );
    await say("head -c 10000000 /dev/zero | tr '\\0' x");
    const live = fixture.progress.slice(2);
    assert.equal(live.map(({ chunk = "" }) => chunk).join("").length, TOOL_LIMITS.shellProgressCharacters);
    assert.deepEqual(live.at(-1), { message: "Further output is not shown live" });
  });

  it("reads no start-up file and no variable that bash would run", async () => {
    fixture.write("evil.sh", "echo evil");
    process.env["BASH_ENV"] = join(fixture.root, "evil.sh");
    try {
      assert.equal(await say("echo good"), "good\n");
    } finally {
      delete process.env["BASH_ENV"];
    }
  });

  it("answers what cannot be started as an error", async () => {
    assert.equal(await say("echo \0"), "ERROR The command contains a NUL character. Send it without.");
    const longest = `: ${"x".repeat(TOOL_LIMITS.shellCommandBytes - 2)}`;
    assert.equal(await say(longest), "(no output)");
    assert.equal(
      await say(`${longest}x`),
      "ERROR The command has 131,072 bytes; at most 131,071 bytes can be started. Write it to a file and run that.",
    );
  });

  it("shows what a terminal would: no control sequences, of a progress bar its last state", async () => {
    const bar = "for i in $(seq 1 3000); do printf '\\rloading %d%%' $i; done; echo; echo done";
    assert.equal(await say(bar), "loading 3000%\ndone\n[40,880 characters left out that carriage returns overwrote]");
    assert.equal(await say("printf '\\e[1;31mred\\e[0m \\e]0;title\\a\\e[2Jx\\r\\n'"), "red x\r\n");
  });

  it("bounds the time-out", async () => {
    await assert.rejects(say("true", { timeoutMs: TOOL_LIMITS.shellMaxTimeoutMs + 1 }), /timeoutMs/);
    await assert.rejects(say("true", { timeoutMs: 0 }), /timeoutMs/);
    assert.ok((shell?.timeoutMs ?? 0) > TOOL_LIMITS.shellMaxTimeoutMs);
  });

  it("declares what it touches, and that it never runs twice by itself", () => {
    assert.deepEqual([shell?.kind, shell?.rerun, shell?.builtIn, shell?.probe], ["execute", "never", true, undefined]);
    assert.deepEqual(shell?.needs({ command: "a; b" } as never), [
      { type: "execute", command: "a", words: ["a"], named: 1 },
      { type: "execute", command: "b", words: ["b"], named: 1 },
    ]);
    assert.equal(shell?.title({ command: "echo \u001b[31m" } as never), String.raw`Run "echo \u001b[31m"`);
  });
});

describe("findBash", () => {
  it("takes only what can be run, at absolute paths; without one there is no tool", () => {
    fixture.write("bash", "not executable");
    assert.equal(findBash([join(fixture.root, "none"), join(fixture.root, "bash"), fixture.root]), undefined);
    assert.match(findBash() ?? "", /^\/(?:usr\/(?:local\/)?|opt\/homebrew\/)?bin\/bash$/);
    assert.deepEqual(shellTools([]), []);
  });
});

describe("codingTools", () => {
  it("TOOL-13 gives the file tools and the shell", () => {
    const names = ["read_file", "write_file", "edit", "multi_edit", "list", "glob", "grep", "shell"];
    assert.deepEqual(
      codingTools().map(({ name }) => name),
      names,
    );
    assert.ok(codingTools().every(({ builtIn }) => builtIn));
  });
});
