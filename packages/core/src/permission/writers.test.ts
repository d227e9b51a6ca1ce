import { describe, expect, it } from "vitest";
import { evaluate, parseRule } from "./permission.ts";
import type { Need } from "../ports/workspace.ts";

function verdictOf(command: string): string {
  const words = command.split(" ").map((word) => (word === "?" ? null : word));
  const need: Need = { type: "execute", command, words, named: 1 };
  const call = { tool: "shell", kind: "execute", builtIn: true, needs: [need], root: "/w" } as const;
  const tier = { tier: "agent" as const, allow: [parseRule("shell")], ask: [], deny: [] };
  return evaluate(call, { mode: "bypass", tiers: [tier] }).verdict;
}

describe("programs that write what they name", () => {
  for (const command of [
    "sed -i s/a/b/ .git/config",
    "sed -ni.bak p AGENTS.md",
    "perl -pi -e 1 AGENTS.md",
    "curl -o .git/hooks/x http://a",
    "curl -sSLo.npmrc http://a",
    "curl --output=.npmrc http://a",
    "wget -O .bashrc http://a",
    "tar -C .git -xf a.tar",
    "unzip a -d .git",
    "sort -o .mcp.json a",
    "git config core.pager evil",
    "git checkout HEAD~1 -- AGENTS.md",
    "git mv a .mcp.json",
    "git -C sub config a b",
    "find .git -delete",
    "patch .npmrc",
    "cp -t.git a",
    "xxd -r a .git/x",
    "sponge .npmrc",
    "ed .npmrc",
    "split a .git/x",
    "cp a ~/.bashrc",
  ]) {
    it(`PERM-19 G17 asks before ${command}, also under bypass`, () => expect(verdictOf(command)).toBe("ask"));
  }
  for (const command of [
    "sed -n p .git/config",
    "curl -s http://a/.npmrc",
    "curl -o /dev/null http://a",
    "sort .mcp.json",
    "git config --get core.pager",
    "git config -l",
    "git diff AGENTS.md",
    "git log -- AGENTS.md",
    "find .git -name x",
    "cat AGENTS.md",
    "perl -ne print AGENTS.md",
  ]) {
    it(`PERM-19 does not ask before ${command}`, () => expect(verdictOf(command)).toBe("allow"));
  }
});
