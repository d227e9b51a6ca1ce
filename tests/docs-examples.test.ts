import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
/** Pages whose code is quoted from programs that CI runs. */
const QUOTED: Readonly<Record<string, readonly string[]>> = {
  "docs/models.md": ["choose-a-model"],
  "docs/agents.md": ["agents-and-budgets", "handoffs", "remote-agent"],
};

function blocksOf(page: string): readonly string[] {
  return [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => block ?? "");
}

describe.each(Object.entries(QUOTED))("the code in %s", (page, programs) => {
  const source = programs.map((name) => readFileSync(join(root, "examples", name, "main.ts"), "utf8")).join("\n");
  const blocks = blocksOf(readFileSync(join(root, page), "utf8"));

  it(`stands word for word in ${programs.join(", ")}`, () => {
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks) expect(source).toContain(block);
  });
});

describe("the list of race checks in docs/testing.md", () => {
  const [, races = ""] = readFileSync(join(root, "docs/testing.md"), "utf8").split("## Races");
  const files = [...races.matchAll(/`([^`]+\.test\.ts)`/g)].map(([, file]) => file ?? "");

  it("TEST-06 names tests that are there", () => {
    expect(files.length).toBeGreaterThan(8);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });
});
