import { describe, expect, it } from "vitest";
import type { Trust } from "../trust.ts";
import { folderInstructions } from "./folder-instructions.ts";

function trusted(files: { readonly [name: string]: string }): Trust {
  return {
    folder: "/project",
    state: "trusted",
    files: Object.keys(files),
    changed: [],
    hash: "",
    read: async (name) => (files[name] === undefined ? undefined : new TextEncoder().encode(files[name])),
  };
}

describe("folderInstructions", () => {
  it("SKILL-10 takes each file under its name, and the override in place of what it overrides", async () => {
    const found = await folderInstructions(
      trusted({ "AGENTS.md": "a", "AGENTS.override.md": "b\n", "CLAUDE.md": "c", "CLAUDE.local.md": " " }),
    );
    expect(found).toEqual({
      text: "Instructions of this folder (AGENTS.override.md):\n\nb\n\nInstructions of this folder (CLAUDE.md):\n\nc",
      names: ["AGENTS.override.md", "CLAUDE.md"],
      bytes: 2,
      left: 0,
    });
    expect(await folderInstructions(trusted({}))).toBeUndefined();
  });

  it("SKILL-10 keeps 32,768 bytes of all together, without half a character", async () => {
    const found = await folderInstructions(trusted({ "AGENTS.md": `x${"é".repeat(16_384)}`, "CLAUDE.md": "late" }));
    expect(found).toMatchObject({ bytes: 32_768, left: 5 });
    expect(found?.text.endsWith("éé")).toBe(true);
    expect(found?.text).not.toContain("\ufffd");
  });
});
