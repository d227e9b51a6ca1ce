import assert from "node:assert/strict";
import { describe, it } from "vitest";
import { claudeRules } from "./claude-rules.ts";
import { type CallFacts, evaluate, parseRule, type PolicyTier } from "./permission.ts";
import type { Need } from "../ports/workspace.ts";

const PLACES = { root: "/home/ann/project", home: "/home/ann" };
type Lists = {
  readonly allow?: readonly string[];
  readonly ask?: readonly string[];
  readonly deny?: readonly string[];
};

/** Rules of the list, written from the grammar that Claude Code documents. */
const ALLOWING: readonly (readonly [string, readonly string[]])[] = [
  ["Bash", ["Bash"]],
  ["Bash(git status)", ["Bash(git status)"]],
  ["Bash(git *)", ["Bash(git *)"]],
  ["Bash(git:*)", ["Bash(git *)"]],
  ["Bash(npm run test:*)", ["Bash(npm run test *)"]],
  ["Bash(git*)", []],
  ["Bash(git * main)", []],
  ["Bash(echo $HOME)", []],
  ["Read", ["Read"]],
  ["Read(src/a.ts)", ["Read(src/a.ts)", "Read(src/a.ts/**)"]],
  ["Read(./src/**)", ["Read(./src/**)"]],
  ["Read(/src/**)", ["Read(/home/ann/project/src/**)"]],
  ["Read(~/notes/*)", ["Read(/home/ann/notes/*)"]],
  ["Read(//etc/hosts)", ["Read(/etc/hosts)", "Read(/etc/hosts/**)"]],
  ["Read(.env)", ["Read(**/.env)", "Read(**/.env/**)"]],
  ["Edit(src/**)", ["Edit(src/**)"]],
  ["Edit(docs/)", ["Edit(docs/**)"]],
  ["Edit(*.[ch])", []],
  ["Edit(!a)", ["Edit(**/!a)", "Edit(**/!a/**)"]],
  ["Write(src/**)", []],
  ["Grep(src/**)", []],
  ["WebFetch", ["web_fetch"]],
  ["WebFetch(domain:example.com)", ["web_fetch(domain:example.com)"]],
  ["WebSearch", ["web_search"]],
  ["mcp__github", ["mcp:github/*"]],
  ["mcp__github__*", ["mcp:github/*"]],
  ["mcp__github__create_issue", ["mcp:github/create_issue"]],
  ["mcp__github__get_*", []],
  ["mcp__*", []],
  ["Agent(explore)", []],
  ["Skill(x)", []],
  ["", []],
  ["Bash(", []],
];

describe("claudeRules", () => {
  for (const [text, rules] of ALLOWING) {
    it(`reads allow ${JSON.stringify(text)}`, () => {
      const { permission, problems } = claudeRules({ allow: [text] }, PLACES);
      assert.deepEqual(permission, { allow: rules, ask: [], deny: [] });
      assert.equal(problems.length, rules.length === 0 ? 1 : 0);
      for (const rule of rules) parseRule(rule);
    });
  }

  it("PERM-02 what forbids and cannot be said exactly asks for more than was written", () => {
    const { permission, problems } = claudeRules(
      {
        deny: ["Bash(git push*)", "Bash(*--force)", "Edit(*.[ch])", "mcp__github__delete_*", "Bash(rm:*)", "Write(/x)"],
        ask: ["Bash(curl*)"],
      },
      PLACES,
    );
    assert.deepEqual(permission, {
      allow: [],
      ask: ["Bash(git *)", "Bash(*)", "Edit", "mcp:github/*", "Bash(*)"],
      deny: ["Bash(rm *)", "Edit(/home/ann/project/x)"],
    });
    assert.equal(problems.length, 5);
  });

  it("PERM-12 reads the modes", () => {
    const modes = ["default", "manual", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"];
    assert.deepEqual(
      modes.map((defaultMode) => claudeRules({ defaultMode }, PLACES).permission.mode),
      ["ask", "ask", "accept-edits", "plan", "never-ask", "ask", "bypass"],
    );
    assert.deepEqual(claudeRules({ defaultMode: "toString" }, PLACES).problems, ['defaultMode "toString": not known']);
  });

  it("takes foreign settings of any shape", () => {
    for (const value of [undefined, null, 1, "x", [], { allow: "Bash" }, { allow: [1, null, {}] }]) {
      assert.deepEqual(claudeRules(value, PLACES), { permission: { allow: [], ask: [], deny: [] }, problems: [] });
    }
  });

  it("PERM-02 takes the project's folder to the letter, whatever is in its name", () => {
    const places = { root: "/home/ann/a*{b,c}", home: "/home/ann?" };
    const { allow = [] } = claudeRules({ allow: ["Edit(/src/**)", "Edit(~/x)"] }, places).permission;
    const tier: PolicyTier = { tier: "global", allow: allow.map(parseRule), ask: [], deny: [] };
    const verdict = (path: string): string =>
      evaluate(call("write_file", "edit", [{ type: "write", path }]), { mode: "ask", tiers: [tier] }).verdict;
    assert.deepEqual(
      ["/home/ann/a*{b,c}/src/x", "/home/ann?/x", "/home/ann/a-other-b/src/x", "/home/anna/x"].map(verdict),
      ["allow", "allow", "ask", "ask"],
    );
  });

  const reading = (path: string): CallFacts => call("read_file", "read", [{ type: "read", path }]);
  const writing = (path: string): CallFacts => call("write_file", "edit", [{ type: "write", path }]);
  const running = (command: string): CallFacts => call("shell", "execute", [{ type: "execute", command }]);
  const rows: readonly (readonly [CallFacts, Lists, string])[] = [
    [running("npm run test --watch"), { allow: ["Bash(npm run test:*)"] }, "allow"],
    [running("npm run test-all"), { allow: ["Bash(npm run test:*)"] }, "ask"],
    [running("git push"), { allow: ["Bash"], deny: ["Bash(git push:*)"] }, "deny"],
    [running("gitk"), { allow: ["Bash"], deny: ["Bash(git*)"] }, "ask"],
    [reading("/etc/hosts"), { allow: ["Read(//etc/**)"] }, "allow"],
    [reading("/etc/hosts"), { allow: ["Read(/etc/**)"] }, "ask"],
    [reading("a/b/.env"), { deny: ["Read(.env)"] }, "deny"],
    [reading("/home/ann/.aws/key"), { deny: ["Read(~/.aws/**)"] }, "deny"],
    [writing("src/deep/a.ts"), { allow: ["Edit(*.ts)"] }, "allow"],
    [writing("a.ts"), { allow: ["Edit(*.ts)"] }, "allow"],
    [writing("src/a.ts"), { allow: ["Edit(/src)"] }, "allow"],
    [writing("a.ts"), { allow: ["Write(*.ts)"] }, "ask"],
    [writing("a.ts"), { deny: ["Write(*.ts)"] }, "deny"],
  ];
  for (const [facts, lists, verdict] of rows) {
    it(`PERM-02 ${verdict}s ${JSON.stringify(facts.needs)} under ${JSON.stringify(lists)}`, () => {
      const { allow = [], ask = [], deny = [] } = claudeRules(lists, PLACES).permission;
      const tier: PolicyTier = {
        tier: "global",
        allow: allow.map(parseRule),
        ask: ask.map(parseRule),
        deny: deny.map(parseRule),
      };
      assert.equal(evaluate(facts, { mode: "ask", tiers: [tier] }).verdict, verdict);
    });
  }
});

function call(tool: string, kind: CallFacts["kind"], needs: readonly Need[]): CallFacts {
  return { tool, kind, builtIn: true, needs, root: PLACES.root };
}
