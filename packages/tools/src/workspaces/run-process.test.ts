import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { type RunOptions, type RunOutcome, systemClock } from "@capstan/core";
import { afterEach, beforeEach, describe, it, vi } from "vitest";
import { temporaryWorkspace, type TemporaryWorkspace } from "../temporary-workspace.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { endLeftovers } from "./local.ts";
import { endProcesses, findProcesses } from "./process-group.ts";
import { isOrphanTag, newTag, RUN_FOLDER, startOf, tagValue } from "./run-tag.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 }); // processes take their time on a busy machine

let fixture: TemporaryWorkspace;
beforeEach(async () => {
  fixture = await temporaryWorkspace();
});
afterEach(async () => {
  assert.deepEqual(fixture.processes(), []);
  await fixture.close();
});

function bash(command: string, options: Partial<RunOptions> = {}): Promise<RunOutcome> {
  const given = { timeoutMs: 20_000, maxOutputBytes: 10_000, signal: new AbortController().signal, ...options };
  return fixture.workspace.run(["/bin/bash", "--noprofile", "--norc", "-c", command], given);
}

describe("run of the local workspace", () => {
  it("TOOL-28 survives 400 MB of output within its bound (G12)", async () => {
    const before = process.memoryUsage().rss;
    const outcome = await bash("head -c 400000000 /dev/zero");
    assert.equal(outcome.stdout.replaceAll("\0", "").trim(), "[... 399,990,000 bytes left out ...]");
    assert.ok(process.memoryUsage().rss - before < 250_000_000); // what other tests of this process left is in it
  });

  it("ends one endless line at its deadline", async () => {
    const outcome = await bash("tr '\\0' x < /dev/zero", { timeoutMs: 300, maxOutputBytes: 100 });
    assert.deepEqual([outcome.killedBy, outcome.truncated], ["timeout", true]);
    assert.match(outcome.stdout, /^x{50}\n\[\.\.\. [\d,]+ bytes left out \.\.\.\]\nx{50}$/);
  });

  it("G10 ends descendants however they detach", async () => {
    const ways = [
      "sleep 5000 &",
      "nohup sleep 5000 > /dev/null 2>&1 &",
      "sleep 5000 > /dev/null 2>&1 & disown",
      "setsid sleep 5000 &",
      "setsid -f sleep 5000",
      "(setsid bash -c 'setsid sleep 5000 & setsid sleep 5000 &' &)",
      "set -m; sleep 5000 > /dev/null 2>&1 & sleep 5000 &",
      "env -i setsid -f sleep 5000 < /dev/null > /dev/null 2>&1",
      "(exec -a innocent setsid -f sleep 5000)",
      "(trap '' TERM HUP INT; setsid sleep 5000 > /dev/null 2>&1 &)",
      "setsid -f bash -c 'kill -STOP $$; sleep 5000'",
      "setsid -f bash -c 'exec 30>&- >&- 2>&-; sleep 5000; :'",
    ];
    const check = async (way: string): Promise<void> => {
      const outcome = await bash(`${way}\necho started`);
      assert.deepEqual([outcome.exitCode, outcome.stdout, (outcome.leftover ?? 0) > 0], [0, "started\n", true], way);
    };
    await Promise.all(ways.map(check));
    assert.deepEqual(fixture.processes(), []);
  });

  it("G10 ends them too when the command is timed out or aborted, whatever holds the output", async () => {
    const script =
      "setsid sleep 5000 & (trap '' TERM; setsid sleep 5000) & trap 'echo no' TERM; while :; do sleep 5000; done";
    const startedAt = systemClock.monotonic();
    assert.equal((await bash(script, { timeoutMs: 200 })).killedBy, "timeout");
    assert.deepEqual(fixture.processes(), []);
    const abort = new AbortController();
    const outcome = await bash(`echo on; ${script}`, { signal: abort.signal, onOutput: () => abort.abort() });
    assert.equal(outcome.killedBy, "abort");
    assert.ok(systemClock.monotonic() - startedAt < 5_000);
  });

  it("G11 ends a command that starts processes faster than they are ended", async () => {
    const script = "for i in {1..40}; do (trap '' TERM; while :; do setsid sleep 0.2; done) & done; wait";
    assert.equal((await bash(script, { timeoutMs: 300 })).killedBy, "timeout");
  });

  it("lets what a command has in flight finish: process substitutions", async () => {
    const outcome = await bash("seq 3 | tee >(sleep 0.05; cat >&2) > /dev/null");
    assert.deepEqual([outcome.stderr, outcome.leftover], ["1\n2\n3\n", undefined]);
  });

  it("waits for a command that has closed its output", async () => {
    assert.equal((await bash("exec >&- 2>&-; sleep 0.1; exit 3")).exitCode, 3);
  });

  it("does not wait for input a command does not read, nor fail on it", async () => {
    assert.equal((await bash("exit 0", { input: "x".repeat(10_000_000) })).exitCode, 0);
    assert.equal((await bash("wc -c", { input: "x".repeat(10_000_000) })).stdout.trim(), "10000000");
  });

  it("G23 gives the command no key of this process", async () => {
    process.env["CAPSTAN_TEST_API_KEY"] = "sk-secret";
    try {
      assert.doesNotMatch((await bash("env; cat /proc/self/environ")).stdout, /sk-secret/);
    } finally {
      delete process.env["CAPSTAN_TEST_API_KEY"];
    }
  });

  it("gives the command no descriptor of this process but the mark", async () => {
    const { stdout } = await bash("exec ls /proc/$$/fd");
    const before = new Set(["0", "1", "2", "3", "30"]);
    const inherited = (await shellDescriptors()).concat("255");
    assert.deepEqual(
      stdout
        .trim()
        .split("\n")
        .filter((name) => !before.has(name) && !inherited.includes(name)),
      [],
    );
  });

  it("rejects with what onOutput throws, and ends the command", async () => {
    const onOutput = (): never => {
      throw new Error("listener");
    };
    await assert.rejects(bash("echo on; sleep 5000", { onOutput }), /listener/);
  });

  it("leaves no folder for its pipes", async () => {
    await Promise.all([bash("true"), bash("echo x"), bash("exit 1")]);
    assert.deepEqual(
      readdirSync(tmpdir()).filter((name) => name.startsWith(RUN_FOLDER) && name.includes(`.${process.pid}.`)),
      [],
    );
  });

  it("keeps many commands apart", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => bash(`sleep 0.0${index % 5}; echo ${index}; sleep 5000 &`)),
    );
    assert.deepEqual(
      outcomes.map(({ stdout, leftover }) => `${stdout.trim()} ${leftover}`),
      outcomes.map((_, index) => `${index} 1`),
    );
  });
});

describe("endProcesses", () => {
  it("gives a command killGraceMs to end by itself", async () => {
    const outcome = await bash("trap 'echo bye; exit 5' TERM; echo on; while :; do sleep 0.01; done", {
      timeoutMs: 200,
    });
    assert.deepEqual([outcome.stdout, outcome.exitCode, outcome.killedBy], ["on\nbye\n", 5, "timeout"]);
    assert.ok(TOOL_LIMITS.killGraceMs < 500);
  });

  it("takes SIGKILL after the grace", async () => {
    const { exitSignal, durationMs } = await bash("trap '' TERM; while :; do sleep 0.01; done", { timeoutMs: 100 });
    assert.equal(exitSignal, "SIGKILL");
    assert.ok(
      durationMs >= 100 + TOOL_LIMITS.killGraceMs && durationMs < 100 + TOOL_LIMITS.killGraceMs + TOOL_LIMITS.killMs,
    );
  });
});

describe("run tags", () => {
  it("know whether their owner still runs", () => {
    const [space, pid, start, random] = newTag().split(".");
    assert.equal(isOrphanTag([space, pid, start, random].join(".")), false);
    assert.equal(isOrphanTag([space, pid, Number(start) - 1, random].join(".")), true);
    assert.equal(isOrphanTag([space, 99_999_999, start, random].join(".")), true);
    assert.equal(isOrphanTag(["1", 99_999_999, start, random].join(".")), false); // another container's
    assert.equal(isOrphanTag("anything"), false);
    assert.equal(isOrphanTag(tagValue(newTag(), undefined)), false);
    assert.equal(isOrphanTag(tagValue(newTag(), [space, 99_999_999, start, random].join("."))), true);
  });

  it("never find this process or an older one", () => {
    const all = findProcesses({ tag: "", group: process.pid, since: "0" }).map(({ pid }) => pid);
    assert.ok(!all.includes(process.pid) && !all.includes(1));
    assert.deepEqual(findProcesses({ tag: "", group: process.pid, since: "99999999999999" }), []);
  });
});

describe("endProcesses", () => {
  it("G10 kills what does not obey, also where a look for processes takes longer than all its deadlines", async () => {
    const stubborn = spawn("/bin/bash", ["-c", "trap '' TERM; echo on; exec sleep 5000"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const gone = once(stubborn, "exit");
    await once(stubborn.stdout, "data");
    const { pid = 0 } = stubborn;
    const found = { pid, start: startOf(pid) ?? "" };
    let nowMs = 0;
    const find = (): readonly (typeof found)[] => {
      nowMs += 10_000;
      return stubborn.exitCode === null && stubborn.signalCode === null ? [found] : [];
    };
    await endProcesses(find, { ...systemClock, monotonic: () => nowMs });
    setTimeout(() => stubborn.kill("SIGINT"), 5_000).unref(); // it does not outlive a failure
    assert.deepEqual(await gone, [null, "SIGKILL"]);
  });
});

describe("endLeftovers", () => {
  it("G10 ends what a killed Capstan left behind, and nothing of a living one", async () => {
    const source = `
      import { localWorkspace } from ${JSON.stringify(new URL("./local.ts", import.meta.url).href)};
      const workspace = await localWorkspace(${JSON.stringify(fixture.root)});
      await workspace.run(["/bin/bash", "-c", "setsid sleep 5000 & env -i sleep 5000"], { timeoutMs: 60000, maxOutputBytes: 10, signal: new AbortController().signal });
    `;
    const owner = spawn(process.execPath, ["--conditions=capstan-source", "--input-type=module", "-e", source], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const sleeping = (): readonly string[] => fixture.processes().filter((command) => command === "sleep 5000");
    const gone = once(owner, "exit");
    try {
      await vi.waitFor(() => assert.equal(sleeping().length, 2), { timeout: 30_000, interval: 20 });
      await endLeftovers(systemClock); // of others that were killed meanwhile, on this machine
      assert.equal(sleeping().length, 2);
    } finally {
      owner.kill("SIGKILL");
    }
    await gone;
    await endLeftovers(systemClock); // every Capstan that starts here does so too: another may have come first
    assert.deepEqual(fixture.processes(), []);
  });
});

/** What a plain shell has open here: descriptors this machine hands to everyone. */
async function shellDescriptors(): Promise<string[]> {
  if (!existsSync("/proc/self/fd")) return [];
  const child = spawn("/bin/bash", ["-c", "exec ls /proc/$$/fd"], { stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  child.stdout.on("data", (chunk) => (output += String(chunk)));
  await once(child, "close");
  return output.trim().split("\n");
}
