import { describe, expect, it } from "vitest";
import { evaluate, parseRule } from "./permission.ts";
import type { Need } from "../ports/workspace.ts";

function verdictOf(command: string, more: Partial<Extract<Need, { type: "execute" }>> = {}) {
  const need: Need = { type: "execute", command, words: command.split(" "), named: 1, ...more };
  const call = { tool: "shell", kind: "execute", builtIn: true, needs: [need], root: "/w" } as const;
  const rules = { allow: ["shell(cat *)", "shell(grep *)", "shell(tool *)"].map(parseRule), ask: [] };
  const deny = ["Read(.env)", "Read(./secrets/**)"].map(parseRule);
  return evaluate(call, { mode: "ask", tiers: [{ tier: "agent", ...rules, deny }] }).verdict;
}

describe("a denied file among the words of a command", () => {
  for (const command of [
    "cat .env",
    "cat ./a/../.env",
    "cat deep/.env",
    "cat /w/.env",
    "tool --file=.env",
    "tool -f.env",
    "tool -d @.env",
    "tool HEAD:.env",
    "tool HEAD:./deep/.env",
    "tool file:///w/.env",
    "tool -v ./secrets:/inside",
    "tool a,secrets/key",
    "tool --data=@.env",
    "grep -r KEY secrets",
    "grep -r KEY .",
    "cat secrets/a/key",
  ]) {
    it(`PERM-19 G14 asks before ${command}`, () => {
      expect(verdictOf(command)).toBe("ask");
    });
  }

  it("PERM-19 G14 asks when a word is not known", () => {
    expect(verdictOf("cat", { words: ["cat", null] })).toBe("ask");
  });

  for (const command of [
    "cat readme.md",
    "cat src/environment.ts",
    "tool --file=.envrc",
    "grep -r KEY src",
    "tool http://127.0.0.1:80/a?b=c,d",
    "tool HEAD:src/a.ts",
  ]) {
    it(`PERM-19 does not ask before ${command}`, () => {
      expect(verdictOf(command)).toBe("allow");
    });
  }
});

describe("a protected path among the words of a command that writes", () => {
  const verdict = (command: string, mode: "ask" | "bypass" = "ask"): string => {
    const need: Need = { type: "execute", command, words: command.split(" "), named: 1 };
    const call = { tool: "shell", kind: "execute", builtIn: true, needs: [need], root: "/w" } as const;
    return evaluate(call, { mode, tiers: [{ tier: "agent", allow: [parseRule("shell")], ask: [], deny: [] }] }).verdict;
  };

  for (const command of [
    "cp build.js .git/hooks/pre-commit",
    "touch AGENTS.md",
    "mv a /w/.claude/settings.json",
    "ln -s x .mcp.json",
    "rm -rf .git",
    "dd if=a of=.git/config",
    "/bin/cp a .capstan/settings.json",
  ]) {
    it(`G17 PERM-18 asks before ${command}, whatever allows it`, () => {
      expect(verdict(command)).toBe("ask");
      expect(verdict(command, "bypass")).toBe("ask");
    });
  }

  for (const command of ["cp a.js b.js", "mkdir -p dist", "cat AGENTS.md", "git add .gitignore", "rm dist/a.js"]) {
    it(`PERM-18 does not ask before ${command}`, () => {
      expect(verdict(command)).toBe("allow");
    });
  }
});
