import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CapstanError } from "@capstan/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bwrap } from "./bwrap.ts";
import { holdMountPoints, PLACEHOLDER_FILES, PLACEHOLDER_FOLDERS } from "./mount-points.ts";
import { protectedPaths } from "./protected-paths.ts";
import { sandboxed } from "./sandboxed.ts";

let root = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "capstan-sandboxed-")));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A bubblewrap that is there and does not confine. */
function brokenBwrap(): string {
  const path = join(root, "bwrap");
  writeFileSync(path, '#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n', { mode: 0o755 });
  return path;
}

const options = { timeoutMs: 10_000, maxOutputBytes: 1_000, signal: new AbortController().signal };

describe("sandboxed", () => {
  it("PERM-15 required: throws where the sandbox is missing, and starts nothing", async () => {
    const factory = sandboxed({ sandbox: bwrap({}, { bwrap: ["/no/such/bwrap"] }) });
    await expect(factory(root)).rejects.toSatisfy((error) => CapstanError.is(error, "sandbox-unavailable"));
  });

  it("PERM-15 required: throws where the sandbox is there but does not confine", async () => {
    const factory = sandboxed({ sandbox: bwrap({}, { bwrap: [brokenBwrap()] }), confinement: "required" });
    await expect(factory(root)).rejects.toThrow(/the mnt namespace is shared/);
    rmSync(join(root, "bwrap"));
    expect(readdirSync(root)).toEqual([]);
  });

  it("PERM-15 preferred: runs without, says so once, and records that nothing confines", async () => {
    const reasons: string[] = [];
    const factory = sandboxed({
      sandbox: bwrap({}, { bwrap: ["/no/such/bwrap"] }),
      confinement: "preferred",
      onFallback: ({ code }) => reasons.push(code),
    });
    const workspace = await factory(root);
    const outcome = await workspace.run(["/bin/echo", "hello"], options);
    expect([outcome.stdout, workspace.confinement, reasons]).toEqual(["hello\n", "none", ["sandbox-unavailable"]]);
    await workspace.close();
  });

  it("off: runs without, and asks nothing", async () => {
    const workspace = await sandboxed({ sandbox: bwrap({}, { bwrap: [] }), confinement: "off" })(root);
    expect(workspace.confinement).toBe("none");
    await workspace.close();
  });

  it("PERM-15 refuses a list of hosts that it could not keep", async () => {
    const factory = sandboxed({ sandbox: bwrap({ network: ["example.org"] }) });
    await expect(factory(root)).rejects.toThrow(/cannot tell hosts apart/);
  });
});

describe("holdMountPoints", () => {
  it("PERM-16 makes what is missing, shares it, and takes away only what is still empty", () => {
    writeFileSync(join(root, ".bashrc"), "mine");
    const first = holdMountPoints(root);
    const second = holdMountPoints(root);
    expect(readdirSync(root).toSorted()).toEqual([...PLACEHOLDER_FILES, ...PLACEHOLDER_FOLDERS].toSorted());
    first.release();
    first.release();
    expect(existsSync(join(root, ".git"))).toBe(true);
    writeFileSync(join(root, ".mcp.json"), "{}");
    second.release();
    expect(readdirSync(root).toSorted()).toEqual([".bashrc", ".mcp.json"]);
  });
});

describe("protectedPaths", () => {
  it("PERM-16 finds protected names that are there, below the root too, and spares what a rule names", () => {
    for (const folder of [".git/hooks", ".git/info", "a/b/.claude", "a/src", "node_modules/x/.git"])
      mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, ".git/config"), "");
    writeFileSync(join(root, "AGENTS.md"), "");
    const names = (writable: readonly string[] = []): readonly string[] =>
      protectedPaths(root, writable).map((path) => path.slice(root.length + 1));
    expect(names().toSorted()).toEqual([".git", "AGENTS.md", "a/b/.claude"]);
    expect(names([join(root, ".git")]).toSorted()).toEqual([
      ".git/config",
      ".git/hooks",
      ".git/info",
      "AGENTS.md",
      "a/b/.claude",
    ]);
  });
});
