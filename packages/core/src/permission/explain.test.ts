import assert from "node:assert/strict";
import { describe, it } from "vitest";
import { explain } from "./explain.ts";
import { type CallFacts, evaluate, parseRule, type Policy, rulesFor } from "./permission.ts";
import type { ExecuteNeed, Need } from "../ports/workspace.ts";

const ROOT = "/home/ann/project";
const shell = (...needs: readonly Need[]): CallFacts => ({
  tool: "shell",
  kind: "execute",
  builtIn: true,
  needs,
  root: ROOT,
});
const command = (words: readonly (string | null)[], more: Partial<ExecuteNeed> = {}): ExecuteNeed => ({
  type: "execute",
  command: words.join(" "),
  words,
  ...more,
});
const policy = (allow: readonly string[], deny: readonly string[] = [], mode: Policy["mode"] = "ask"): Policy => ({
  mode,
  tiers: [{ tier: "agent", allow: allow.map(parseRule), ask: [], deny: deny.map(parseRule) }],
});

describe("explain", () => {
  it("EDGE-09 gives the verdict of evaluate and one for each need", () => {
    const call = shell(
      command(["git", "status"]),
      command(["cd", "src"], { named: 0 }),
      { type: "read", path: "src" },
      command(["git", "push"]),
      { type: "write", path: "out" },
      command([null]),
    );
    const rules = policy(["shell(git status)"], ["shell(git push *)"]);
    const explanation = explain(call, rules);
    const { needs, ...verdict } = explanation;
    assert.deepEqual(verdict, evaluate(call, rules));
    assert.deepEqual(
      needs.map((one) => [one.verdict, one.reason]),
      [
        ["allow", "Allowed by the agent rule shell(git status)"],
        ["allow", "Needs no rule"],
        ["allow", "Needs no rule"],
        ["deny", "Denied by the agent rule shell(git push *)"],
        ["ask", "No rule allows to write out"],
        ["ask", "Asked because nothing proves that it is not what is meant by the agent rule shell(git push *)"],
      ],
    );
    assert.deepEqual(
      needs.map(({ rule, tier }) => [rule, tier]),
      [
        ["shell(git status)", "agent"],
        [undefined, undefined],
        [undefined, undefined],
        ["shell(git push *)", "agent"],
        [undefined, undefined],
        ["shell(git push *)", "agent"],
      ],
    );
  });
});

describe("evaluate: words", () => {
  const rows: readonly (readonly [string, ExecuteNeed, readonly string[], string])[] = [
    ["exact words", command(["npm", "test"]), ["shell(npm test)"], "allow"],
    ["a word with a blank is one word", command(["npm test"]), ["shell(npm test)"], "ask"],
    ["a word that is not known", command(["npm", null]), ["shell(npm test)"], "ask"],
    ["a word that is not known under an open rule", command(["npm", null]), ["shell(npm *)"], "allow"],
    ["the program is not known", command([null, "test"]), ["shell(npm *)", "shell(*)"], "ask"],
    ["words that an open rule must name", command(["a", "-o", "x"], { named: 3 }), ["shell(a *)"], "ask"],
    ["named by an open rule", command(["a", "-o", "x", "y"], { named: 3 }), ["shell(a -o x *)"], "allow"],
    ["named by an exact rule", command(["a", "-o", "x"], { named: 3 }), ["shell(a -o x)"], "allow"],
    ["any program", command(["a", "-o", "x"], { named: 3 }), ["shell(*)"], "allow"],
    ["in the root", command(["git", "log"], { folder: ROOT }), ["shell(git log)"], "allow"],
    ["in another folder", command(["git", "log"], { folder: "sub" }), ["shell(git log)"], "ask"],
    ["in a folder above", command(["git", "log"], { folder: ".." }), ["shell(git log)"], "ask"],
    ["in another folder under the bare name", command(["git", "log"], { folder: "sub" }), ["shell"], "allow"],
    ["only a step", command(["cd", "x"], { named: 0 }), [], "ask"],
  ];
  for (const [title, need, allow, verdict] of rows) {
    it(`PERM-02 PERM-19 ${title}`, () => assert.equal(evaluate(shell(need), policy(allow)).verdict, verdict));
  }

  const forbidden: readonly (readonly [string, ExecuteNeed, string, string])[] = [
    ["the words", command(["git", "push", "x"]), "shell(git push *)", "deny"],
    ["what is not known may be them", command(["git", null]), "shell(git push *)", "ask"],
    ["nothing is known", command([null]), "shell(git push *)", "ask"],
    ["another program with what is not known", command(["ls", null]), "shell(git push *)", "allow"],
    ["a wrapper that was read", command(["timeout", "5", "ls"], { named: 0 }), "shell(git push *)", "allow"],
    ["a wrapper that was not", command(["timeout", "-x", "ls"], { named: 3 }), "shell(git push *)", "ask"],
    ["options in another order", command(["rm", "-f", "-r", "x"]), "shell(rm -rf *)", "ask"],
    ["long options", command(["rm", "--recursive", "--force"]), "shell(rm -rf *)", "ask"],
    ["one option is missing", command(["rm", "-r", "x"]), "shell(rm -rf *)", "allow"],
    ["an abbreviated option", command(["a", "--forc"]), "shell(a --force *)", "ask"],
    ["a step", command(["cd", "x"], { named: 0 }), "shell(cd *)", "deny"],
  ];
  for (const [title, need, deny, verdict] of forbidden) {
    it(`PERM-01 G15 a rule that denies: ${title}`, () => {
      assert.equal(evaluate(shell(need), policy([], [deny], "bypass")).verdict, verdict);
    });
  }

  it("a rule of commands does not judge the files of redirects", () => {
    const call = shell(command(["ls"]), { type: "write", path: "git" });
    assert.equal(evaluate(call, policy(["shell(ls)", "Edit(git)"], ["shell(git push *)"])).verdict, "allow");
  });
});

describe("rulesFor: several commands", () => {
  it("PERM-03 gives a rule for each, and none when one cannot be said", () => {
    const step = command(["cd", "src"], { named: 0 });
    const two = [command(["npm", "test"]), command(["git", "log"], { named: 2 })];
    assert.deepEqual(rulesFor(shell(step, { type: "read", path: "src" }, ...two, command(["npm", "test"]))), [
      "shell(npm test)",
      "shell(git log)",
    ]);
    for (const other of [
      command([null]),
      command(["a", "b c"]),
      command(["a", null]),
      command(["git", "log"], { folder: "sub" }),
      { type: "write", path: "x" } as const,
      { type: "read", path: "/etc/x" } as const,
    ]) {
      assert.deepEqual(rulesFor(shell(...two, other)), []);
    }
  });
});
