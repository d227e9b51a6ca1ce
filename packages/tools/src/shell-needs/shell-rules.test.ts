import assert from "node:assert/strict";
import { callFacts, evaluate, parseRule, type Policy, type Verdict } from "@capstan/core";
import { describe, it, vi } from "vitest";
import { shellTools } from "../shell.ts";
import { HOSTILE } from "./hostile-cases.ts";
import { EVERYDAY, RULES } from "./shell-cases.ts";
import { shellNeeds } from "./shell-needs.ts";
import { observeAll } from "./shell-oracle.ts";

vi.setConfig({ testTimeout: 240_000 }); // hundreds of processes on a busy machine

const [shell] = shellTools();
const ROOT = "/work/project";

function judged(command: string, allow: readonly string[], deny: readonly string[] = []): Verdict {
  assert.ok(shell);
  const rules = { allow: allow.map(parseRule), ask: [], deny: deny.map(parseRule) };
  const policy: Policy = { mode: "ask", tiers: [{ tier: "agent", ...rules }] };
  return evaluate(callFacts(shell, { command }, ROOT), policy);
}

describe("shell rules under a real bash", () => {
  it("PERM-19 PERM-02 G14 no command that runs the canary or writes its file is allowed", async () => {
    assert.ok(HOSTILE.length >= 200);
    assert.deepEqual(
      HOSTILE.filter((command) => judged(command, RULES).verdict === "allow"),
      [],
    );
    const observed = await observeAll(HOSTILE, false);
    const ran = HOSTILE.filter((command) => observed.get(command)?.canary === true);
    assert.ok(ran.length >= HOSTILE.length * 0.75, `only ${ran.length} ran it: the oracle is blind`);
  });

  it("PERM-02 G14 everyday commands under sensible rules do not ask, and run no canary", async () => {
    assert.ok(EVERYDAY.length >= 40);
    const asked = EVERYDAY.map((command) => ({ command, ...judged(command, RULES) }));
    assert.deepEqual(
      asked.filter(({ verdict }) => verdict !== "allow"),
      [],
    );
    const observed = await observeAll(EVERYDAY, false);
    assert.deepEqual(
      EVERYDAY.filter((command) => observed.get(command)?.canary !== false),
      [],
    );
  });
});

describe("rules over shellNeeds", () => {
  const allow = ["shell(git status)", "shell(git diff *)", "shell(npm test)"];
  const rows: readonly (readonly [string, readonly string[], readonly string[], Verdict["verdict"]])[] = [
    ["git status && git diff --stat", allow, [], "allow"],
    ["git status && git diff --output=x", allow, [], "ask"],
    ["git status && git push", allow, [], "ask"],
    ["git diff --output=x", [...allow, "shell(git diff --output=x)"], [], "allow"],
    ["git diff --output=x HEAD", [...allow, "shell(git diff --output=x *)"], [], "allow"],
    ["git status", ["shell"], ["shell(git push *)"], "allow"],
    ["git status; git push", ["shell"], ["shell(git push *)"], "deny"],
    ["git 'push'", ["shell"], ["shell(git push *)"], "deny"],
    ["echo $(git push)", ["shell"], ["shell(git push *)"], "deny"],
    ["f() { git push; }; f", ["shell"], ["shell(git push *)"], "deny"],
    ["timeout 5 nice env CI=1 git push", ["shell"], ["shell(git push *)"], "deny"],
    ["timeout 5 git status", ["shell"], ["shell(timeout *)"], "deny"],
    ["bash -c 'cd x; git push'", ["shell"], ["shell(git push *)"], "deny"],
    ["find . -exec git push {} +", ["shell"], ["shell(git push *)"], "deny"],
    ["ls | xargs git push", ["shell"], ["shell(git push *)"], "deny"],
    ["env X=1 git push", ["shell"], ["shell(git push *)"], "deny"],
    ["$x push", ["shell"], ["shell(git push *)"], "ask"],
    ["git $x", ["shell"], ["shell(git push *)"], "ask"],
    ["cat s*", ["shell(cat *)"], ["shell(cat secret)"], "ask"],
    ["ls src/*.ts", ["shell(ls *)"], ["shell(git push *)"], "allow"],
    ["rm -fr x", ["shell"], ["shell(rm -rf *)"], "ask"],
    ["rm -r --force x", ["shell"], ["shell(rm -rf *)"], "ask"],
    ["rm -r x", ["shell"], ["shell(rm -rf *)"], "allow"],
    ["git push origin --force", ["shell"], ["shell(git push --force *)"], "ask"],
    ["cd src && git status", allow, [], "ask"],
    [`cd ${ROOT} && git status`, allow, [], "allow"],
    ["cd .. && npm test", allow, [], "ask"],
    ["cd /etc && npm test", allow, [], "ask"],
    ["cd src && npm test", allow, [], "allow"],
    ["cd src && npm test", allow, ["shell(cd *)"], "deny"],
    ["cd secret && npm test", allow, ["Read(./secret/**)"], "deny"],
    ["npm test < secret/x", allow, ["Read(./secret/**)"], "deny"],
    ["npm test > out/x", [...allow, "Edit(./out/**)"], [], "allow"],
    ["cd src && npm test > ../out/x", [...allow, "Edit(./out/**)"], [], "ask"],
    ["cd out; npm test > x", [...allow, "Edit(./out/**)"], [], "ask"],
    ["cd out && npm test > x", [...allow, "Edit(./out/**)"], [], "allow"],
    ["npm test > .git/hooks/x", ["shell", "Edit(/**)"], [], "ask"],
    ["npm test > /dev/null 2>&1", allow, [], "allow"],
    ["npm test > /dev/tcp/127.0.0.1/1", [...allow, "Edit(/**)"], [], "ask"],
    ["sudo npm test", [...allow, "shell(sudo *)"], [], "allow"],
    ["sudo npm test", ["shell(sudo *)"], [], "ask"],
    ["sudo npm test", allow, [], "ask"],
    ["ls; id", ["shell(*)"], [], "allow"],
    ["$x", ["shell(*)"], [], "ask"],
    ["x=1; ls", ["shell(*)"], [], "allow"],
    ["PATH=. ls", ["shell(*)"], [], "ask"],
    ["read -r http_proxy; curl -s http://127.0.0.1/", ["shell(*)"], [], "ask"],
    ["read -r line; ls", ["shell(*)"], [], "allow"],
    ["npm audit fix", ["shell(npm audit *)"], [], "ask"],
    ["npm audit --json", ["shell(npm audit *)"], [], "allow"],
    ["git show HEAD:.env", ["shell"], ["Read(.env)"], "ask"],
    ["curl -d @.env http://127.0.0.1/", ["shell"], ["Read(.env)"], "ask"],
    ["bat --pager=id x", ["shell(bat *)"], [], "ask"],
  ];
  for (const [command, allowing, denying, verdict] of rows) {
    it(`PERM-19 G15 ${verdict}s ${JSON.stringify(command)} under ${[...allowing, ...denying.map((rule) => `not ${rule}`)].join(" ")}`, () => {
      assert.equal(judged(command, allowing, denying).verdict, verdict);
    });
  }
});

describe("shellNeeds", () => {
  it("PERM-19 gives every program with its words, and every file of a redirect", () => {
    assert.deepEqual(shellNeeds(`timeout 5 git 'log' "$x" 2>&1 | tee -a out/a > b < c`), [
      { type: "execute", command: `timeout 5 git 'log' "$x"`, words: ["timeout", "5", "git", "log", null], named: 0 },
      { type: "execute", command: `git 'log' "$x"`, words: ["git", "log", null], named: 3 },
      { type: "write", path: "b" },
      { type: "read", path: "c" },
      { type: "write", path: "out/a" },
      { type: "execute", command: "tee -a out/a", words: ["tee", "-a", "out/a"], named: 1 },
    ]);
  });

  it("claims nothing of what it cannot read", () => {
    for (const command of ["ls '", "ls \u0000", "ls \ud800", `ls ${"x".repeat(17_000)}`, "ls\u00a0-l", "ls \r\n id"]) {
      const known = shellNeeds(command).map((need) => need.type === "execute" && need.words?.[0] === null);
      assert.ok(known.includes(true), command);
    }
    assert.deepEqual(shellNeeds(""), []);
    assert.deepEqual(shellNeeds("# nothing"), []);
  });
});
