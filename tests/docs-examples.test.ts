import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
/** Pages whose code is quoted from a program that CI runs. */
const QUOTED: Readonly<Record<string, string>> = {
  "docs/models.md": "examples/choose-a-model/main.ts",
  "docs/agents.md": "examples/agents-and-budgets/main.ts",
};

function blocksOf(page: string): readonly string[] {
  return [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => block ?? "");
}

describe.each(Object.entries(QUOTED))("the code in %s", (page, program) => {
  const source = readFileSync(join(root, program), "utf8");
  const blocks = blocksOf(readFileSync(join(root, page), "utf8"));

  it(`stands word for word in ${program}`, () => {
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
