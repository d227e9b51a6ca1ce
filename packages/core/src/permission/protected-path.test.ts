import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "vitest";
import { isOrdinary, isProtectedPath } from "./protected-path.ts";

const NAMES =
  ".git .GIT .Git. .capstan .claude .ssh .config .husky .vscode .aws _darcs _DARCS agents.md AGENTS.MD AGENTS.md. claude.local.md " +
  ".mcp.json opencode.jsonc .gitattributes .bashrc .npmrc mise.toml lefthook.yml capstan.config.ts capstan.config.mjs git~1 GIT~2 " +
  "claude~1 capsta~3 .git:x .bashrc:$DATA profile.ps1 microsoft.powershell_profile.ps1 .pnp.cjs .profile src a.ts node_modules .env " +
  "gitx .gitx x.git agents.mdx .. . a..b ~ c: x=y 1 -rf";
const name = fc.constantFrom(...NAMES.split(" "), "", "\\", ".git ", "a b", "é", ".ｇit", "\u200b.git", "etc", "proc");
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
const root = fc.constantFrom("/work/project", "/work", "/", "C:\\work\\project", "/work/.git/hooks", "/proc/self");

describe("isOrdinary", () => {
  it("G17 is no path that is protected, seen from any root", () => {
    let ordinary = 0;
    fc.assert(
      fc.property(path, root, (given, from) => {
        if (!isOrdinary(given, from)) return;
        ordinary++;
        assert.equal(isProtectedPath(given, from), false, `${given} from ${from}`);
      }),
      { numRuns: 20_000, seed: 20_261 },
    );
    assert.ok(ordinary > 500, `only ${ordinary}`);
  });

  it("is what most paths of a project are", () => {
    for (const given of ["src/a.ts", "./out/b c.txt", "a=b:c,d@e", ".env", "src/.gitx/y", "-tfolder/x"]) {
      assert.equal(isOrdinary(given, "/work/project"), true, given);
    }
    for (const given of ["", ".", "./", "/", "/etc/passwd", "../x", "a/../.git", "a\\.git", "é"]) {
      assert.equal(isOrdinary(given, "/work/project"), false, given);
    }
  });
});
