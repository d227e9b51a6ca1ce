import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { describe, expect, it } from "vitest";

/** From the lowest up; the files at the top are the loop, which the handles of `session/` start. */
const FOLDERS = [
  "words",
  "state",
  "ports",
  "permission",
  "store-engine",
  "hold",
  "model",
  "hooks",
  "turn",
  "call",
  ".",
  "session",
  "testing",
];
const IMPORT = /^(?:import|export) [^;"]* from "(\.[^"]+)";$/gm;

describe("the folders of core", () => {
  const files = globSync("**/*.ts", { cwd: import.meta.dirname }).filter(
    (file) => !file.endsWith(".test.ts") && file !== "index.ts",
  );
  const height = (file: string): number => FOLDERS.indexOf(dirname(file).split(sep).join("/"));

  it("are all in the order", () => {
    expect(files.filter((file) => height(file) === -1)).toEqual([]);
  });

  it("import downwards only, types too", () => {
    const upward = files.flatMap((file) => {
      const source = readFileSync(join(import.meta.dirname, file), "utf8");
      const imported = Array.from(source.matchAll(IMPORT), ([, path = ""]) => normalize(join(dirname(file), path)));
      return imported.filter((other) => height(other) > height(file)).map((other) => `${file} imports ${other}`);
    });
    expect(upward).toEqual([]);
  });
});
