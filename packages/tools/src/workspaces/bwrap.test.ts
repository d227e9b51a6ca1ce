import { spawn } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { CapstanError, type RunOutcome, type ToolContext, type Workspace } from "@capstan/core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { grepTool } from "../files/grep.ts";
import { bwrap } from "./bwrap.ts";
import type { SandboxRules } from "./confiner.ts";
import { localWorkspace } from "./local.ts";
import { missingHere, suiteName } from "./sandbox-here.ts";
import { sandboxed } from "./sandboxed.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const missing = await missingHere(bwrap());

describe.skipIf(missing !== undefined)(suiteName("bwrap", missing), () => {
  let folder = "";
  let root = "";
  let workspace: Workspace;
  const open = (rules?: SandboxRules): Promise<Workspace> => sandboxed({ sandbox: bwrap(rules) })(root);
  const sh = (script: string, at: Workspace = workspace): Promise<RunOutcome> =>
    at.run(["/bin/bash", "--noprofile", "--norc", "-c", script], {
      timeoutMs: 20_000,
      maxOutputBytes: 100_000,
      signal: new AbortController().signal,
    });

  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "capstan-bwrap-")));
    root = join(folder, "work");
    mkdirSync(root);
    writeFileSync(join(folder, "outside.txt"), "outside");
    workspace = await open();
  });
  afterAll(async () => {
    await workspace.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("PERM-16 writes in the workspace and nowhere else", async () => {
    const { stdout } = await sh(`echo inside > made; echo x > ${folder}/escaped; echo x > ../escaped
for path in /usr/capstan-escaped /etc/capstan-escaped /opt/capstan-escaped; do echo x > $path && echo "wrote $path"; done
cat made`);
    expect(stdout).toBe("inside\n");
    expect(readdirSync(folder).toSorted()).toEqual(["outside.txt", "work"]);
    expect(readFileSync(join(root, "made"), "utf8")).toBe("inside\n");
    for (const path of ["/usr", "/etc", "/opt"]) expect(existsSync(`${path}/capstan-escaped`)).toBe(false);
  });

  it("PERM-16 does not see what lies beside the workspace, under any name", async () => {
    symlinkSync(join(folder, "outside.txt"), join(root, "link"));
    symlinkSync(folder, join(root, "folder-link"));
    const names = ["link", "folder-link/outside.txt", "../outside.txt", `${folder}/outside.txt`];
    const aliases = ["/proc/self/root", "/proc/1/root", "/proc/self/cwd/..", "/proc/thread-self/root"];
    const all = [...names, ...aliases.map((alias) => `${alias}${folder}/outside.txt`)];
    const { stdout } = await sh(all.map((name) => `cat '${name}'`).join("; "));
    expect(stdout).toBe("");
    rmSync(join(root, "link"));
    rmSync(join(root, "folder-link"));
  });

  it("PERM-16 replaces a hard link's own name at most: a program cannot make one to what lies outside", async () => {
    const { stdout } = await sh(
      `ln ${folder}/outside.txt mine; ln /etc/passwd passwd; ls mine passwd 2>/dev/null; echo -`,
    );
    expect(stdout).toBe("-\n");
  });

  it("PERM-16 has no network unless it is allowed", async () => {
    const server = createServer((_request, response) => response.end("reached"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo; // it listens on a port
    const ask = `exec 3<>/dev/tcp/127.0.0.1/${port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3`;
    try {
      expect((await sh(ask)).stdout).toBe("");
      const open_ = await open({ network: true });
      expect(open_.confinement).toBe("bwrap, network");
      expect((await sh(ask, open_)).stdout).toContain("reached");
      await open_.close();
    } finally {
      server.close();
    }
  });

  it("PERM-20 gives programs neither credentials of the home folder nor of the environment", async () => {
    const name = "CAPSTAN_BWRAP_TEST_TOKEN";
    process.env[name] = "sandbox-secret-1";
    try {
      const { stdout } =
        await sh(`env; ls -A ${homedir()}/.ssh ${homedir()}/.aws 2>/dev/null; cat /etc/shadow 2>/dev/null
cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'`);
      expect(stdout).not.toContain("sandbox-secret-1");
      expect(stdout).not.toContain(":$");
      expect(stdout).toContain("HOME=");
      const outside = await sh(`ls /proc | grep -c '^[0-9]'; cat /proc/${process.pid}/environ`);
      expect(Number(outside.stdout.trim())).toBeLessThan(10);
    } finally {
      Reflect.deleteProperty(process.env, name);
    }
  });

  it("PERM-16 protected names cannot be written, whether they are there or not, and leave no trace", async () => {
    const names = [".git/hooks/pre-commit", ".capstan/settings.json", ".claude/settings.json", ".mcp.json", ".bashrc"];
    mkdirSync(join(root, "inner/.git"), { recursive: true });
    writeFileSync(join(root, "inner/.git/config"), "old");
    const tries = [...names, "inner/.git/config"].flatMap((name) => [
      `mkdir -p "$(dirname ${name})"; echo bad > ${name}`,
      `rm -rf ${name.split("/")[0] === "inner" ? "inner/.git" : name.split("/")[0]}`,
      `mv ${name.split("/")[0] === "inner" ? "inner/.git" : name.split("/")[0]} moved`,
    ]);
    await sh(tries.join("; "));
    expect(readdirSync(root).toSorted()).toEqual(["inner", "made"]);
    expect(readFileSync(join(root, "inner/.git/config"), "utf8")).toBe("old");
    rmSync(join(root, "inner"), { recursive: true });
  });

  it("PERM-15 lets a program write where a rule allows it", async () => {
    const cache = join(folder, "cache");
    mkdirSync(join(root, ".claude"));
    mkdirSync(cache);
    const at = await open({ writable: [cache, join(root, ".claude")] });
    await sh(`echo x > ${cache}/x; echo x > .claude/notes; echo x > .git/x`, at);
    expect([readdirSync(cache), readdirSync(join(root, ".claude"))]).toEqual([["x"], ["notes"]]);
    await at.close();
    rmSync(cache, { recursive: true });
    rmSync(join(root, ".claude"), { recursive: true });
    expect(readdirSync(root)).toEqual(["made"]);
  });

  it("PERM-15 keeps limits and says so", async () => {
    const at = await open({ limits: { memoryBytes: 400_000_000, cpuSeconds: 1, processes: 200 } });
    expect(at.confinement).toBe(
      "bwrap, no network, at most 400000000 bytes of memory, at most 1 s of processor time, at most 200 processes",
    );
    const { stdout } = await sh("ulimit -v; ulimit -t; ulimit -u; (while :; do :; done); echo $?", at);
    expect(stdout).toBe("390625\n1\n200\n137\n");
    await at.close();
  });

  it("PERM-16 has no rights to undo it: no mounts, no new devices, no way to another process", async () => {
    const { stdout } = await sh(
      "mount -o remount,rw /usr && echo remounted; umount .git && echo unmounted; mknod d b 7 0 && echo device; " +
        "unshare -Urm mount -o remount,rw,bind /usr && echo nested; grep CapEff /proc/self/status; kill -9 -1 2>/dev/null",
    );
    expect(stdout).toBe("CapEff:\t0000000000000000\n");
  });

  it("PERM-16 hands no descriptor of this process on", async () => {
    const { stdout } = await sh("ls -l /proc/self/fd");
    const leads = stdout.split("\n").flatMap((line) => / (\d+) -> (.*)$/.exec(line)?.slice(1).join(" ") ?? []);
    expect(leads.map((line) => line.replace(/\/tmp\/capstan-run-[^/]*/, "run").replace(/\d+\/fd/, "pid/fd"))).toEqual([
      "0 /dev/null",
      "1 run/out (deleted)",
      "2 run/err (deleted)",
      "3 /proc/pid/fd",
      "30 run/mark (deleted)",
    ]);
  });

  it("PERM-16 ends a detached grandchild, and everything within 10 s of a SIGKILL of its Capstan", async () => {
    const name = `sleep ${1_000_000 + process.pid}`;
    const outcome = await sh(`(setsid nohup ${name} >/dev/null 2>&1 &); echo done`);
    expect([outcome.stdout, outcome.leftover]).toEqual(["done\n", 1]);
    expect(running(name)).toBe(0);
    const child = spawn(
      process.execPath,
      ["--conditions=capstan-source", "--input-type=module", "-e", CHILD, root, name],
      { cwd: import.meta.dirname, stdio: ["ignore", "ignore", "inherit"] },
    );
    try {
      await vi.waitFor(() => expect(running(name)).toBe(2), { timeout: 30_000, interval: 20 });
    } finally {
      child.kill("SIGKILL");
    }
    await vi.waitFor(() => expect(running(name)).toBe(0), { timeout: 10_000, interval: 20 });
    const next = await open(); // the next start takes the placeholders away
    expect(readdirSync(root).filter((entry) => entry.startsWith("."))).toEqual([]);
    await next.close();
  });

  it("PERM-17 searches files with the tools as they are", async () => {
    const context = { workspace, signal: new AbortController().signal } as unknown as ToolContext; // all they look at
    writeFileSync(join(root, "needle.txt"), "a needle\n");
    const found = grepTool.body.type === "execute" ? await grepTool.body.execute({ pattern: "needle" }, context) : "";
    expect(JSON.stringify(found)).toContain("needle.txt");
    rmSync(join(root, "needle.txt"));
  });

  it("PERM-15 states what is in force", () => {
    expect(workspace.confinement).toBe("bwrap, no network");
  });

  it("PERM-15 is not to be had for a folder that holds credentials or the system", async () => {
    for (const path of ["/", "/usr", "/etc", homedir()]) {
      const opening = localWorkspace(path, { confine: (real) => bwrap().open(real) });
      await expect(opening).rejects.toSatisfy((error) => CapstanError.is(error, "sandbox-unavailable"));
    }
  });

  it("PERM-16 is not opened by a link that stands where a protected name would", async () => {
    const real = join(root, "real");
    mkdirSync(real);
    symlinkSync(real, join(root, ".claude"));
    linkSync(join(folder, "outside.txt"), join(folder, "second"));
    await sh("echo bad > .claude/settings.json; echo bad > real/settings.json");
    expect(readdirSync(real)).toEqual([]);
    for (const path of [join(root, ".claude"), real, join(folder, "second")]) rmSync(path, { recursive: true });
  });
});

const CHILD = `
import { grepTool } from "../files/grep.ts";
import { bwrap } from "./bwrap.ts";
import { sandboxed } from "./sandboxed.ts";
const [root, name] = process.argv.slice(1);
const workspace = await sandboxed({ sandbox: bwrap() })(root);
await workspace.run(["/bin/bash", "-c", "(setsid nohup " + name + " &); exec " + name], {
  timeoutMs: 100_000, maxOutputBytes: 100, signal: new AbortController().signal,
});`;

function running(command: string): number {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim() === command;
    } catch {
      return false;
    }
  }).length;
}
