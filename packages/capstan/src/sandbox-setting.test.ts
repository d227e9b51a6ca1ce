import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandHome, type ChildEnd } from "./command-child.ts";

/** A list of hosts is something bwrap cannot keep, on any machine. */
const UNKEEPABLE = { network: ["example.org"] };

async function ran(sandbox: object): Promise<ChildEnd & { readonly left: readonly string[] }> {
  await using at = await commandHome();
  mkdirSync(at.home, { recursive: true });
  writeFileSync(join(at.home, "settings.json"), JSON.stringify({ sandbox }));
  const end = await at.run(["run", "--agent", "demo", "--mode", "bypass", "go"]);
  return { ...end, left: readdirSync(at.folder) };
}

describe("the setting sandbox", () => {
  it("PERM-15 required: nothing runs where the sandbox cannot be had", async () => {
    const { code, stderr, left } = await ran({ confinement: "required", ...UNKEEPABLE });
    expect([code, stderr.includes("(sandbox-unavailable)"), left]).toEqual([2, true, []]);
  });

  it("PERM-15 preferred: says that programs run without", async () => {
    const { stderr } = await ran({ confinement: "preferred", ...UNKEEPABLE });
    expect(stderr).toContain("programs run without a sandbox");
  });

  it("refuses settings it does not know", async () => {
    const { code, stderr } = await ran({ confinement: "always" });
    expect([code, stderr.includes("(config-invalid)")]).toEqual([2, true]);
  });
});
