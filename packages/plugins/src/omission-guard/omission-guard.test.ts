import { describe, expect, it } from "vitest";
import { call, fileWorld, play } from "../file-world.ts";
import { omissionGuard } from "./index.ts";
import { placeholdersIn } from "./placeholder.ts";

const PLACEHOLDERS = [
  "// ... rest of code unchanged",
  "// ... rest of the code remains the same ...",
  "// ... existing code ...",
  "// ...existing imports...",
  "# ... rest of the function",
  "# rest of the file remains unchanged",
  "/* ... other methods ... */",
  "/* unchanged code omitted for brevity */",
  "<!-- rest of the content stays the same -->",
  "<!-- ... existing content ... -->",
  "{/* ... remaining components */}",
  "-- ... same as before",
  "; ... previous code",
  "... (rest of the file unchanged)",
  "… remaining lines unchanged …",
  "[... rest of the document omitted ...]",
  "// existing code here",
  "// other functions remain unchanged",
  "// (implementation unchanged)",
  "    // ... keep the rest",
  "* ... your code here",
  "// rest of the implementation...",
  "# existing code ...",
  "// keep all existing code...",
  "// The remaining methods ...",
  "(... rest unchanged)",
];
const CODE = [
  "const all = [...rest, last];",
  "...rest",
  "  ...existing,",
  "[...rest, last],",
  "(...remaining) => remaining,",
  "<Button {...rest} />",
  "#existing = [...rest];",
  ";[...existing].forEach(run)",
  "--existing; // ...",
  "// const all = [...rest];",
  "// return { ...existing, name };",
  "// fetches the remaining pages...",
  "*existing, last = rest",
  "/* eslint-disable */",
  "",
  "...",
  "    ... # a protocol's body",
  "// Loads the rest of the page",
  "// the remaining tests run in parallel",
  "# existing users keep their settings",
  "// ... and then the server answers",
  "return code; // unchanged",
  "print('... rest of the code unchanged')",
  "// Wait for the existing connection to close",
  "/** The rest of the arguments. */",
  "// TODO: see issue ...",
  "// TODO: the previous implementation was slow...",
  "# Load the existing configuration...",
  "// check all other methods...",
  `// ${"x".repeat(300)} ... rest of code unchanged`,
];

describe("placeholdersIn", () => {
  it("TOOL-40 knows remarks that stand for code", () => {
    for (const line of PLACEHOLDERS) expect(placeholdersIn(`a();\n${line}\nb();`), line).toEqual([line.trim()]);
  });

  it("TOOL-40 leaves code and ordinary comments alone", () => {
    for (const line of CODE) expect(placeholdersIn(line), line).toEqual([]);
  });

  it("takes time in proportion to the text", () => {
    const text = `// ${"rest of the ".repeat(15)}\n`.repeat(20_000) + "/".repeat(100_000);
    expect(placeholdersIn(text)).toEqual([]);
  });
});

describe("omissionGuard", () => {
  const lazy = "one();\n// ... rest of code unchanged\n";
  const refused = (name: string) =>
    expect.stringMatching(
      new RegExp(`^${name} error: Not done: the new text stands in for code with "// \\.\\.\\. rest`),
    );

  it("TOOL-40 refuses a write and an edit that leave code out, and lets whole ones", async () => {
    const world = fileWorld({ "a.ts": "one();\ntwo();\n" });
    const { results } = await play({
      world,
      plugins: [omissionGuard()],
      turns: [
        {
          calls: [
            call("write_file", { path: "a.ts", content: lazy }),
            call("write_file", { path: "new.ts", content: lazy }),
          ],
        },
        { calls: [call("edit", { path: "a.ts", old_string: "two();", new_string: lazy })] },
        { calls: [call("edit", { path: "a.ts", old_string: "two();", new_string: "three();" })] },
      ],
    });
    expect(results).toEqual([refused("write_file"), refused("write_file"), refused("edit"), "edit ok: Edited a.ts."]);
    expect([...world.files]).toEqual([["a.ts", "one();\nthree();\n"]]);
  });

  it("TOOL-40 lets a remark stay that stood there before", async () => {
    const world = fileWorld({ "a.md": lazy });
    const { results } = await play({
      world,
      plugins: [omissionGuard()],
      turns: [
        { calls: [call("write_file", { path: "a.md", content: `zero();\n  ${lazy}` })] },
        { calls: [call("edit", { path: "a.md", old_string: lazy, new_string: `two();\n${lazy}` })] },
        { calls: [call("edit", { path: "a.md", old_string: "two();", new_string: lazy })] },
      ],
    });
    expect(results.map((line) => line.split(":")[0])).toEqual(["write_file ok", "edit ok", "edit error"]);
  });

  it("leaves other tools and other arguments alone", async () => {
    const world = fileWorld({ "// ... rest of code unchanged": "x" });
    const { results } = await play({
      world,
      plugins: [omissionGuard()],
      turns: [{ calls: [call("read_file", { path: "// ... rest of code unchanged" })] }],
    });
    expect(results).toEqual(["read_file ok: x"]);
  });
});
