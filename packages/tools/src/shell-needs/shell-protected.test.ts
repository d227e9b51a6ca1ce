import assert from "node:assert/strict";
import { callFacts, evaluate, parseRule } from "@capstan/core";
import { describe, it } from "vitest";
import { shellTools } from "../shell.ts";

const [shell] = shellTools();

function verdict(command: string, mode: "ask" | "bypass", deny: readonly string[] = []): string {
  assert.ok(shell);
  const tier = {
    tier: "agent" as const,
    allow: ["shell(*)", "Edit(./**)"].map(parseRule),
    ask: [],
    deny: deny.map(parseRule),
  };
  return evaluate(callFacts(shell, { command }, "/work/project"), { mode, tiers: [tier] }).verdict;
}

describe("protected paths in a command", () => {
  for (const command of [
    "echo x > out/../.git/hooks/a",
    "cd src && echo x > ../.git/config",
    "cd src && touch ../.git/x",
    "(cd .git && touch x)",
    "cd .git && echo > config",
    "ls | tee out/../.npmrc",
    "ln -sf x .git/hooks/pre-commit; ls",
    "install -m755 a .git/hooks/b; ls",
    "cp a ~/.bashrc",
    'cp a "$HOME/.ssh/authorized_keys"',
    "cp a $PWD/.git/x",
    "echo > ~/.bashrc",
    "echo >> ${HOME}/.profile",
    "tee -a ~/.profile < a",
    "cp a ~/.bashrc; cp a ~/other",
  ]) {
    it(`PERM-19 G17 asks before ${command}, also under bypass`, () => {
      assert.equal(verdict(command, "ask"), "ask");
      assert.equal(verdict(command, "bypass"), "ask");
    });
  }
  for (const command of ["cp a ~/x", "cat ~/.bashrc", "cd src && touch x", "cd .git && ls", "cat $HOME/.profile"]) {
    it(`PERM-19 does not ask before ${command}`, () => assert.equal(verdict(command, "ask"), "allow"));
  }

  it("PERM-19 G15 denied files are seen from the folder that a command stands in", () => {
    assert.equal(verdict("cd a && cat b/c", "ask", ["Read(./a/b/**)"]), "ask");
    assert.equal(verdict("cd a && echo > ../secret", "bypass", ["Edit(./secret)"]), "deny");
  });

  it("PERM-19 a command of more things than are read asks, whatever allows them", () => {
    const many = (count: number): string => Array.from({ length: count }, (_, at) => `ls x${at}`).join("; ");
    assert.equal(verdict(many(50), "ask"), "allow");
    assert.equal(verdict(many(100), "ask"), "ask");
    assert.equal(verdict(`${many(10)}; rm -rf x; ${many(100)}`, "bypass", ["shell(rm -rf *)"]), "deny");
    assert.equal(verdict(`${many(100)}; rm -rf x`, "bypass", ["shell(rm -rf *)"]), "ask");
    assert.equal(verdict("$(".repeat(300), "ask"), "ask");
  });
});
