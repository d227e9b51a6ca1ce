import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, callFacts, evaluate, parseRule, type Permission, textOf } from "@capstan/core";
import { scriptedModel, testRuntime } from "@capstan/core/testing";
import { afterEach, beforeEach, describe, it, vi } from "vitest";
import { shellTools } from "./shell.ts";
import { shellNeeds } from "./shell-needs/shell-needs.ts";
import { localWorkspace } from "./workspaces/local.ts";

vi.setConfig({ testTimeout: 60_000 });

let folder = "";
let root = "";
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "capstan-links-")));
  root = join(folder, "work");
  for (const path of [root, join(folder, "outside"), join(root, "src"), join(root, "out"), join(root, ".git/hooks")])
    mkdirSync(path, { recursive: true });
  writeFileSync(join(folder, "outside/file"), "theirs\n");
  symlinkSync("../outside/file", join(root, "to-file"));
  symlinkSync("../outside", join(root, "to-folder"));
  symlinkSync("../outside/nothing", join(root, "to-nothing"));
  symlinkSync(".git/hooks/pre-commit", join(root, "to-hook"));
  symlinkSync("to-file", join(root, "chain"));
  symlinkSync("round", join(root, "round"));
  symlinkSync("../to-folder", join(root, "src/deep"));
  symlinkSync("out", join(root, "inside"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What becomes of a command: whether it ran, was asked about or was refused. */
async function verdictOn(command: string, permission: Permission): Promise<"ran" | "asked" | "refused"> {
  const model = scriptedModel([{ calls: [{ name: "shell", input: { command } }] }, { text: "ok" }]);
  const one = agent({ name: "one", model, instructions: "Work.", tools: shellTools(), permission });
  await using runtime = await testRuntime({
    agents: [one],
    permission: { mode: "ask" },
    workspaces: { local: localWorkspace },
  });
  const session = await runtime.session({ agent: one, workspace: root });
  const { status, requests } = await (await session.send("Go")).result();
  if (status === "waiting") {
    assert.equal(requests[0]?.body.type, "permission");
    return "asked";
  }
  const [result] = model.requests[1]?.messages.at(-1)?.parts ?? [];
  assert.ok(result?.type === "tool-result");
  return textOf(result.output.content).startsWith("Refused") ? "refused" : "ran";
}

const ALLOW: Permission = { mode: "ask", allow: ["shell(*)", "Edit(./**)"] };

describe("links in the way of a command", () => {
  for (const command of [
    "echo x > to-file",
    "echo x >> to-file",
    "echo x | tee to-file",
    "echo x > to-folder/new",
    "echo x > to-nothing",
    "echo x > chain",
    "echo x > round",
    "echo x > src/deep/new",
    "cd src && echo x > deep/new",
    "cd to-folder && ls",
    "cat < to-file",
    "echo x > to-hook",
  ]) {
    it(`PERM-19 G14 asks before ${command}`, async () => {
      assert.equal(await verdictOn(command, ALLOW), "asked");
      assert.equal(readFileSync(join(folder, "outside/file"), "utf8"), "theirs\n");
      assert.equal(existsSync(join(folder, "outside/new")), false);
    });
  }

  for (const command of [
    "echo x > to-hook",
    "cp src/a to-hook",
    "mv src/a to-hook",
    "touch to-hook",
    "echo x | tee to-hook",
  ]) {
    it(`PERM-19 G17 asks before ${command} under bypass: the link leads to a protected path`, async () => {
      assert.equal(await verdictOn(command, { mode: "bypass" }), "asked");
    });
  }

  for (const command of [
    "echo x > inside/log",
    "echo x > out/log",
    "echo x > missing/log",
    "touch inside/a",
    "cp src/a inside/b",
  ]) {
    it(`PERM-19 does not ask before ${command}: nothing leads out`, async () => {
      assert.equal(await verdictOn(command, ALLOW), "ran");
    });
  }

  it("PERM-19 G15 denies what a link leads to", async () => {
    const deny = ["Edit(./out/**)"];
    assert.equal(await verdictOn("echo x > inside/log", { ...ALLOW, deny }), "refused");
    assert.equal(await verdictOn("cp src/a inside/b", { ...ALLOW, deny }), "asked");
    assert.equal(
      await verdictOn("echo x > inside/log", { mode: "ask", allow: ["shell(*)", "Edit(./inside/**)"] }),
      "asked",
    );
  });
});

describe("links that the same command makes", () => {
  const judged = (command: string, mode: "ask" | "bypass"): string => {
    const [shell] = shellTools();
    assert.ok(shell);
    const tier = { tier: "agent" as const, allow: ["shell(*)", "Edit(./**)"].map(parseRule), ask: [], deny: [] };
    return evaluate(callFacts(shell, { command }, "/work/project"), { mode, tiers: [tier] }).verdict;
  };
  for (const command of [
    "ln -s /elsewhere x; echo > x/y",
    "ln -s ../../elsewhere x && echo > x",
    "ln -sfn /elsewhere x; cat < x/y",
    "ln -s /elsewhere/x; echo > x/y",
    "ln -s /elsewhere $x; echo > x/y",
    "ln -t src -s /elsewhere/y; echo > src/y/z",
    "ln --target-directory=src -s /elsewhere/y; echo > src/y/z",
    "cd src; ln -s /elsewhere y; cd ..; echo > src/y/z",
    "(sleep 1; echo > x/y) | ln -s /elsewhere x",
    "ln -s /elsewhere /work/project/x; echo > x/y",
    "ln -s /elsewhere X; echo > x/y",
    "ls | xargs -I{} ln -s /elsewhere {}; echo > x/y",
    "find . -exec ln -s /elsewhere {} +; echo > x/y",
    "/bin/ln -s /elsewhere x; cd x && ls",
    "bash -c 'ln -s /elsewhere x'; echo > x/y",
    "ln /elsewhere/file x; echo > x",
  ]) {
    it(`PERM-19 G14 asks before ${command}, also under bypass`, () => {
      assert.equal(judged(command, "ask"), "ask");
      assert.equal(judged(command, "bypass"), "ask");
    });
  }
  for (const command of [
    "mv a/link x; echo > x/y",
    "cp -a tree x; echo > x/y",
    "git checkout other && echo > out/x",
    "tar -xf a.tar; echo > out/x",
    "git stash pop; ls | tee out/x",
  ]) {
    it(`PERM-19 G14 asks before ${command}`, () => assert.equal(judged(command, "ask"), "ask"));
  }
  for (const command of [
    "ln -s a b; echo > c",
    "cp a b; echo > b",
    "mv a b; echo > c",
    "git status > out/x",
    "git checkout other && ls > /dev/null",
    "mv a b && cd b && ls",
  ]) {
    it(`PERM-19 does not ask before ${command}`, () => assert.equal(judged(command, "ask"), "allow"));
  }

  it("leaves needs alone where no link is made", () => {
    assert.deepEqual(
      shellNeeds("echo > x").filter(({ type }) => type === "write"),
      [{ type: "write", path: "x" }],
    );
  });
});
