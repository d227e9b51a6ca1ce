import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CapstanError, type RunOutcome, type Workspace } from "@capstan/core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { missingHere, suiteName } from "./sandbox-here.ts";
import { sandboxed } from "./sandboxed.ts";
import { srt } from "./srt.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const missing = await missingHere(srt());

describe("srt", () => {
  it("PERM-15 cannot be used without its package, nor for what it cannot keep", async () => {
    const load = async (): Promise<never> => {
      throw new CapstanError("sandbox-unavailable", "not installed");
    };
    for (const options of [{ load }, { network: true }, { limits: { processes: 5 } }]) {
      await expect(srt(options).open(tmpdir())).rejects.toSatisfy((error) =>
        CapstanError.is(error, "sandbox-unavailable"),
      );
    }
  });
});

describe.skipIf(missing !== undefined)(suiteName("srt on this machine", missing), () => {
  let folder = "";
  let workspace: Workspace;
  const run = (argv: readonly string[]): Promise<RunOutcome> =>
    workspace.run(argv, { timeoutMs: 20_000, maxOutputBytes: 10_000, signal: new AbortController().signal });
  const sh = (script: string): Promise<RunOutcome> => run(["/bin/bash", "-c", script]);

  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "capstan-srt-")));
    mkdirSync(join(folder, "work"));
    writeFileSync(join(folder, "outside.txt"), "outside");
    workspace = await sandboxed({ sandbox: srt() })(join(folder, "work"));
  });
  afterAll(async () => {
    await workspace.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("PERM-16 writes in the workspace only, and no protected name", async () => {
    await sh("echo in > made; echo out > ../escaped; mkdir -p .git/hooks; echo x > .bashrc; echo x > .mcp.json");
    expect([readdirSync(folder).toSorted(), readdirSync(join(folder, "work"))]).toEqual([
      ["outside.txt", "work"],
      ["made"],
    ]);
  });

  it("PERM-17 hands words on unchanged", async () => {
    const { stdout, exitCode } = await run([
      "/bin/bash",
      "-c",
      'printf "%s|" "$@"; exit 3',
      "sh",
      "a b",
      "it's",
      "$(id)",
      "",
    ]);
    expect([stdout, exitCode]).toEqual(["a b|it's|$(id)||", 3]);
  });

  it("PERM-16 PERM-20 has neither network nor the environment of this process", async () => {
    process.env["CAPSTAN_SRT_TEST_TOKEN"] = "sandbox-secret-2";
    const { stdout } = await sh("env; (exec 3<>/dev/tcp/127.0.0.1/1) 2>&1; cat /etc/shadow");
    Reflect.deleteProperty(process.env, "CAPSTAN_SRT_TEST_TOKEN");
    expect(stdout).not.toContain("sandbox-secret-2");
    expect(stdout).not.toContain("root:");
  });
});
