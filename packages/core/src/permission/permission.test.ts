import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "vitest";
import { CapstanError } from "../words/errors.ts";
import {
  type CallFacts,
  checkRules,
  evaluate,
  parseRule,
  type Policy,
  type PolicyTier,
  rulesFor,
} from "./permission.ts";
import type { PermissionMode } from "../words/verdict.ts";
import type { Need } from "../ports/workspace.ts";

const ROOT = "/home/ann/project";

type Lists = {
  readonly allow?: readonly string[];
  readonly ask?: readonly string[];
  readonly deny?: readonly string[];
};

function tier(name: PolicyTier["tier"], { allow = [], ask = [], deny = [] }: Lists): PolicyTier {
  return { tier: name, allow: allow.map(parseRule), ask: ask.map(parseRule), deny: deny.map(parseRule) };
}
function policy(lists: Lists = {}, mode: PermissionMode = "ask"): Policy {
  return { mode, tiers: [tier("agent", lists)] };
}
function builtInCall(tool: string, kind: CallFacts["kind"], needs: readonly Need[]): CallFacts {
  return { tool, kind, builtIn: true, needs, root: ROOT };
}
const reading = (path: string): CallFacts => builtInCall("read_file", "read", [{ type: "read", path }]);
const writing = (path: string): CallFacts => builtInCall("write_file", "edit", [{ type: "write", path }]);
const deleting = (path: string): CallFacts => builtInCall("delete_file", "delete", [{ type: "write", path }]);
const searching = (path: string): CallFacts => builtInCall("grep", "search", [{ type: "read", path }]);
const shell = (command: string): CallFacts => builtInCall("shell", "execute", [{ type: "execute", command }]);
const fetching = (url: string): CallFacts => builtInCall("web_fetch", "fetch", [{ type: "fetch", url }]);
const inCode = (more: Partial<CallFacts> = {}): CallFacts => ({
  tool: "refund",
  kind: "other",
  builtIn: false,
  needs: [{ type: "other", what: "refund" }],
  root: ROOT,
  ...more,
});
const mcp = (more: Partial<CallFacts> = {}): CallFacts => ({
  tool: "mcp:github/create_issue",
  kind: "other",
  builtIn: false,
  mcp: true,
  needs: [{ type: "other", what: "mcp:github/create_issue" }],
  root: ROOT,
  ...more,
});
const withoutRoot = ({ root: _root, ...call }: CallFacts): CallFacts => call;
const word = (call: CallFacts, rules: Lists = {}, mode: PermissionMode = "ask"): string =>
  evaluate(call, policy(rules, mode)).verdict;

function table(name: string, rows: readonly (readonly [string, CallFacts, Lists, PermissionMode, string])[]): void {
  for (const [title, call, rules, mode, verdict] of rows) {
    it(`${name}: ${title}`, () => assert.equal(word(call, rules, mode), verdict));
  }
}

describe("parseRule", () => {
  it("reads every form", () => {
    for (const text of [
      "read_file",
      "read_file(./src/**)",
      "write_file(./app/(group)/page.tsx)",
      "write_file(./app/\\[id\\]/page.tsx)",
      "mcp:github/*",
      "mcp:github/create_issue",
      "Read(/etc/hosts)",
      "Bash(npm run test:*)",
      "shell(git push *)",
      "shell(*)",
      "  shell  ",
    ]) {
      assert.equal(parseRule(text).text, text.trim());
    }
  });

  const wrong = [
    "",
    " ",
    "shell(",
    "shell()",
    "shell( )",
    "(x)",
    "two words",
    "1tool",
    "mcp:github",
    "mcp:/x",
    "mcp:git hub/x",
    "read_file(~/x)",
    "read_file(!x)",
    "read_file(../x)",
    "read_file(src/../../x)",
    "read_file([ab].ts)",
    "read_file({a,b)",
    "read_file({a,{b,c}})",
    `read_file(${"{a,b}".repeat(20)})`,
    "shell(rm 'a b')",
    "shell(a && b)",
    "shell(git *push*)",
    "shell(echo $HOME)",
    "shell(PATH=x ls)",
    "Bash(a | b)",
    "read_file(a\nb)",
    "read_file(a)\u0007",
    "shell(a)b",
  ];
  for (const text of wrong) {
    it(`refuses ${JSON.stringify(text).slice(0, 40)}`, () => {
      assert.throws(
        () => parseRule(text),
        (error: unknown) =>
          CapstanError.is(error, "rule-invalid") && error.message.includes(JSON.stringify(text.trim())),
      );
    });
  }
});

describe("evaluate: order", () => {
  table("PERM-01 G15 deny before ask before allow before default", [
    [
      "deny beats ask and allow",
      reading("a"),
      { allow: ["read_file"], ask: ["read_file"], deny: ["read_file"] },
      "ask",
      "deny",
    ],
    ["ask beats allow", reading("a"), { allow: ["read_file"], ask: ["read_file"] }, "ask", "ask"],
    ["allow beats default", writing("a"), { allow: ["write_file"] }, "ask", "allow"],
    ["default of a built-in write", writing("a"), {}, "ask", "ask"],
    ["default of a read inside", reading("a"), {}, "ask", "allow"],
    ["default of a read outside", reading("/etc/passwd"), {}, "ask", "ask"],
    ["default of a command", shell("ls"), {}, "ask", "ask"],
    ["default of a fetch", fetching("https://a.example/"), {}, "ask", "ask"],
    ["default of a tool given in code", inCode(), {}, "ask", "allow"],
    ["default of an MCP tool", mcp(), {}, "ask", "ask"],
    [
      "default of an MCP tool that claims to read",
      mcp({ kind: "read", needs: [{ type: "read", path: "a" }] }),
      {},
      "ask",
      "ask",
    ],
    [
      "default of a built-in todo list",
      builtInCall("todo", "think", [{ type: "other", what: "todo" }]),
      {},
      "ask",
      "allow",
    ],
    ["default of a built-in edit without needs", builtInCall("patch", "edit", []), {}, "ask", "ask"],
    [
      "a built-in read of two files, one outside",
      builtInCall("r", "read", [
        { type: "read", path: "a" },
        { type: "read", path: "../a" },
      ]),
      {},
      "ask",
      "ask",
    ],
  ]);

  for (const denying of ["session", "agent", "global"] as const) {
    for (const allowing of ["session", "agent", "global"] as const) {
      it(`PERM-01 a deny of the ${denying} tier beats an allow of the ${allowing} tier`, () => {
        const tiers = [tier(allowing, { allow: ["write_file"] }), tier(denying, { deny: ["write_file(./src/**)"] })];
        const verdict = evaluate(writing("src/a.ts"), { mode: "bypass", tiers });
        assert.deepEqual(verdict, {
          verdict: "deny",
          by: "rule",
          rule: "write_file(./src/**)",
          tier: denying,
          reason: `Denied by the ${denying} rule write_file(./src/**)`,
          remember: false,
        });
      });
    }
  }

  table("PERM-04 hooks and the tool's own word", [
    ["a hook denies what a rule allows", { ...writing("a"), hook: "deny" }, { allow: ["write_file"] }, "ask", "deny"],
    [
      "a hook asks before what a rule allows",
      { ...writing("a"), hook: "ask" },
      { allow: ["write_file"] },
      "ask",
      "ask",
    ],
    ["a hook allows what would be asked", { ...writing("a"), hook: "allow" }, {}, "ask", "allow"],
    ["a hook cannot lift a deny", { ...writing("a"), hook: "allow" }, { deny: ["write_file"] }, "ask", "deny"],
    ["a hook cannot lift an ask", { ...writing("a"), hook: "allow" }, { ask: ["write_file"] }, "ask", "ask"],
    ["a hook cannot lift a protected path", { ...writing(".git/config"), hook: "allow" }, {}, "bypass", "ask"],
    ["a hook cannot lift the tool's deny", inCode({ word: "deny", hook: "allow" }), {}, "bypass", "deny"],
    ["a rule cannot lift the tool's deny", inCode({ word: "deny" }), { allow: ["refund"] }, "bypass", "deny"],
    ["a rule cannot lift the tool's ask", inCode({ word: "ask" }), { allow: ["refund"] }, "bypass", "ask"],
    ["the tool's allow is its default", mcp({ word: "allow" }), {}, "ask", "allow"],
    ["an ask rule beats the tool's allow", mcp({ word: "allow" }), { ask: ["mcp:github/*"] }, "ask", "ask"],
    [
      "a constant ask is a default that a rule lifts",
      inCode({ standing: "ask" }),
      { allow: ["refund"] },
      "ask",
      "allow",
    ],
    ["a constant ask asks without a rule", inCode({ standing: "ask" }), {}, "ask", "ask"],
    ["a constant deny denies without a rule", inCode({ standing: "deny" }), {}, "ask", "deny"],
    ["a constant allow of a built-in tool", { ...writing("a"), standing: "allow" }, {}, "ask", "allow"],
  ]);

  table("PERM-05 G15 never-ask turns an ask into a deny", [
    ["a default ask", writing("a"), {}, "never-ask", "deny"],
    ["an ask rule", reading("a"), { ask: ["read_file"] }, "never-ask", "deny"],
    ["a protected path", writing(".git/config"), { allow: ["write_file"] }, "never-ask", "deny"],
    ["a command that is not proved", shell("ls; id"), { allow: ["shell(ls)"] }, "never-ask", "deny"],
    ["what is allowed stays allowed", shell("ls"), { allow: ["shell(ls)"] }, "never-ask", "allow"],
  ]);

  it("PERM-05 says why, and offers nothing to remember", () => {
    assert.deepEqual(evaluate(shell("ls"), policy({}, "never-ask")), {
      verdict: "deny",
      by: "default",
      reason: "No rule allows to run ls; nobody can be asked",
      remember: false,
    });
  });

  table("PERM-06 bypass skips the default only", [
    ["a write", writing("a"), {}, "bypass", "allow"],
    ["a write outside", writing("/srv/x"), {}, "bypass", "allow"],
    ["any command", shell("ls; id"), {}, "bypass", "allow"],
    ["an MCP tool", mcp(), {}, "bypass", "allow"],
    ["a deny rule still denies", writing("a"), { deny: ["Edit(./a)"] }, "bypass", "deny"],
    ["an ask rule still asks", writing("a"), { ask: ["Edit(./a)"] }, "bypass", "ask"],
    ["a hook still denies", { ...writing("a"), hook: "deny" }, {}, "bypass", "deny"],
    ["a hook still asks", { ...writing("a"), hook: "ask" }, {}, "bypass", "ask"],
    [
      "a command that may be the denied one is asked",
      shell("ls; git push"),
      { deny: ["shell(git push *)"] },
      "bypass",
      "ask",
    ],
  ]);

  table("PERM-12 plan mode denies what is not read-only", [
    ["a write", writing("a"), { allow: ["write_file"] }, "plan", "deny"],
    ["a command", shell("ls"), { allow: ["shell(ls)"] }, "plan", "deny"],
    ["a read", reading("a"), {}, "plan", "allow"],
    ["a read outside", reading("/x"), {}, "plan", "ask"],
    ["a tool that says read and writes", builtInCall("x", "read", [{ type: "write", path: "a" }]), {}, "plan", "deny"],
    ["a tool in code of no kind", inCode(), {}, "plan", "deny"],
    ["a tool in code that reads", inCode({ kind: "read" }), {}, "plan", "allow"],
    [
      "leaving the mode",
      builtInCall("propose_plan", "switch-mode", [{ type: "other", what: "propose_plan" }]),
      {},
      "plan",
      "allow",
    ],
    ["an MCP tool", mcp(), { allow: ["mcp:github/*"] }, "plan", "deny"],
    ["a hook that allows", { ...writing("a"), hook: "allow" }, {}, "plan", "deny"],
  ]);

  table("PERM-12 accept-edits allows writes inside the root", [
    ["inside", writing("src/a.ts"), {}, "accept-edits", "allow"],
    ["an absolute path inside", writing(`${ROOT}/a`), {}, "accept-edits", "allow"],
    ["outside", writing("../a"), {}, "accept-edits", "ask"],
    ["a neighbour whose name begins like the root", writing(`${ROOT}-evil/a`), {}, "accept-edits", "ask"],
    ["the root spelled in another case", writing("/HOME/ann/project/a"), {}, "accept-edits", "ask"],
    [
      "one inside and one outside",
      builtInCall("move", "move", [
        { type: "write", path: "a" },
        { type: "write", path: "/b" },
      ]),
      {},
      "accept-edits",
      "ask",
    ],
    [
      "one inside, one covered by a rule",
      builtInCall("move", "move", [
        { type: "write", path: "a" },
        { type: "write", path: "/srv/b" },
      ]),
      { allow: ["Edit(/srv/**)"] },
      "accept-edits",
      "allow",
    ],
    [
      "a write and a command",
      builtInCall("x", "edit", [
        { type: "write", path: "a" },
        { type: "execute", command: "ls" },
      ]),
      {},
      "accept-edits",
      "ask",
    ],
    ["a protected path", writing(".git/hooks/pre-commit"), {}, "accept-edits", "ask"],
    ["without a root", withoutRoot(writing("a")), {}, "accept-edits", "ask"],
    [
      "what an MCP server says it writes",
      mcp({ kind: "edit", needs: [{ type: "write", path: "a" }] }),
      {},
      "accept-edits",
      "ask",
    ],
    ["a command", shell("touch a"), {}, "accept-edits", "ask"],
  ]);
});

describe("evaluate: paths", () => {
  table("G14 a path rule that allows covers exactly what it says", [
    ["below **", writing("src/deep/a.ts"), { allow: ["write_file(./src/**)"] }, "ask", "allow"],
    ["the same without ./", writing("src/a.ts"), { allow: ["write_file(src/**)"] }, "ask", "allow"],
    ["the folder of ** itself", deleting("src"), { allow: ["delete_file(./src/**)"] }, "ask", "ask"],
    [
      "an absolute spelling of the path",
      writing(`${ROOT}/src/a.ts`),
      { allow: ["write_file(./src/**)"] },
      "ask",
      "allow",
    ],
    ["an absolute rule", writing("src/a.ts"), { allow: [`write_file(${ROOT}/src/*.ts)`] }, "ask", "allow"],
    ["an absolute rule outside", writing("/srv/data/a"), { allow: ["write_file(/srv/data/**)"] }, "ask", "allow"],
    ["a prefix that is no folder", writing("/srv/data-evil/a"), { allow: ["write_file(/srv/data/**)"] }, "ask", "ask"],
    [".. that leaves the rule", writing("src/../secret/a"), { allow: ["write_file(./src/**)"] }, "ask", "ask"],
    [".. that stays", writing("src/x/../a.ts"), { allow: ["write_file(./src/**)"] }, "ask", "allow"],
    [".. that leaves the root", writing("src/../../other/src/a"), { allow: ["write_file(**)"] }, "ask", "ask"],
    [
      ".. that leaves the root and comes back",
      writing("../project/src/a"),
      { allow: ["write_file(./src/**)"] },
      "ask",
      "allow",
    ],
    ["** is the root and no more", writing("/etc2/x"), { allow: ["write_file(**)"] }, "ask", "ask"],
    ["/** is everything", writing("/srv/x"), { allow: ["write_file(/**)"] }, "ask", "allow"],
    ["* is one name", writing("src/deep/a.ts"), { allow: ["write_file(./src/*)"] }, "ask", "ask"],
    ["* in a name", writing("src/a.test.ts"), { allow: ["write_file(src/*.ts)"] }, "ask", "allow"],
    ["? is one character", writing("src/ab.ts"), { allow: ["write_file(src/?.ts)"] }, "ask", "ask"],
    [
      "? is one character beyond 16 bits",
      writing("src/\u{1f600}.ts"),
      { allow: ["write_file(src/?.ts)"] },
      "ask",
      "allow",
    ],
    ["a choice", writing("lib/a.ts"), { allow: ["write_file({src,lib}/**)"] }, "ask", "allow"],
    ["no choice", writing("lab/a.ts"), { allow: ["write_file({src,lib}/**)"] }, "ask", "ask"],
    [
      "** in the middle stands for nothing too",
      writing("src/a.ts"),
      { allow: ["write_file(src/**/*.ts)"] },
      "ask",
      "allow",
    ],
    ["** in the middle", writing("src/x/y/a.ts"), { allow: ["write_file(src/**/*.ts)"] }, "ask", "allow"],
    ["a dot is a dot", writing("src/axts"), { allow: ["write_file(src/a.ts)"] }, "ask", "ask"],
    ["case counts when it allows", writing("SRC/a.ts"), { allow: ["write_file(src/**)"] }, "ask", "ask"],
    ["a NUL", writing("src/a.ts\0.txt"), { allow: ["write_file"] }, "bypass", "ask"],
    ["a path too long for any system", writing("a/".repeat(40_000)), { allow: ["write_file"] }, "bypass", "ask"],
    ["another name of the file by /proc", reading("/proc/self/cwd/src/a"), { allow: ["read_file"] }, "bypass", "ask"],
    ["another name of the file by /dev", reading("/dev/fd/3"), { allow: ["read_file"] }, "bypass", "ask"],
    ["a back slash is a character here", writing("src\\..\\..\\x"), { allow: ["write_file(./src/**)"] }, "ask", "ask"],
    ["an alias covers any tool of its need", writing("src/a.ts"), { allow: ["Edit(./src/**)"] }, "ask", "allow"],
    ["Write means the same as Edit", writing("src/a.ts"), { allow: ["Write(./src/**)"] }, "ask", "allow"],
    ["Read does not cover a write", writing("src/a.ts"), { allow: ["Read(./src/**)"] }, "ask", "ask"],
    ["Edit does not cover a read", reading("/srv/a"), { allow: ["Edit(/srv/**)"] }, "ask", "ask"],
    [
      "every need must be covered",
      builtInCall("copy", "edit", [
        { type: "read", path: "/srv/a" },
        { type: "write", path: "b" },
      ]),
      { allow: ["Edit(**)"] },
      "ask",
      "ask",
    ],
    [
      "two rules may cover two needs",
      builtInCall("copy", "edit", [
        { type: "read", path: "/srv/a" },
        { type: "write", path: "b" },
      ]),
      { allow: ["Edit(**)", "Read(/srv/**)"] },
      "ask",
      "allow",
    ],
    [
      "a read inside needs no rule of its own",
      builtInCall("edit", "edit", [
        { type: "read", path: "b" },
        { type: "write", path: "b" },
      ]),
      { allow: ["Edit(**)"] },
      "ask",
      "allow",
    ],
    [
      "an alias does not cover what an MCP server says",
      mcp({ needs: [{ type: "write", path: "src/a" }] }),
      { allow: ["Edit(**)"] },
      "ask",
      "ask",
    ],
    ["a rule for another tool", writing("a"), { allow: ["write_files", "write", "edit_file"] }, "ask", "ask"],
  ]);

  table("G15 a path rule that forbids cannot be walked around by spelling", [
    ["the file", reading("secret/key"), { deny: ["Read(./secret/**)"] }, "bypass", "deny"],
    ["the folder itself", reading("secret"), { deny: ["Read(./secret/**)"] }, "bypass", "deny"],
    [
      "a file below a folder named without **",
      reading("secret/deep/key"),
      { deny: ["Read(./secret)"] },
      "bypass",
      "deny",
    ],
    ["..", reading("src/../secret/key"), { deny: ["Read(./secret/**)"] }, "bypass", "deny"],
    [".. around the root", reading("../project/secret/key"), { deny: ["Read(./secret/**)"] }, "bypass", "deny"],
    ["an absolute path", reading(`${ROOT}/./secret//key`), { deny: ["Read(./secret/**)"] }, "bypass", "deny"],
    ["case", reading("SECRET/key"), { deny: ["Read(./secret/**)"] }, "bypass", "deny"],
    ["case of the root", reading("/Home/Ann/PROJECT/secret/key"), { deny: ["Read(./secret/**)"] }, "bypass", "deny"],
    ["a long s", reading("\u017fecret/key"), { deny: ["Read(./secret/**)"] }, "bypass", "deny"],
    ["a Kelvin sign", reading("secret/\u212aey"), { deny: ["Read(./secret/key)"] }, "bypass", "deny"],
    ["a zero width character", reading("sec\u200cret/key"), { deny: ["Read(./secret/**)"] }, "bypass", "deny"],
    ["a decomposed letter", reading("caf\u0065\u0301/key"), { deny: ["Read(./caf\u00e9/**)"] }, "bypass", "deny"],
    ["a composed letter", reading("caf\u00e9/key"), { deny: ["Read(./caf\u0065\u0301/**)"] }, "bypass", "deny"],
    ["a dot at the end", reading("secret./key"), { deny: ["Read(./secret/**)"] }, "bypass", "deny"],
    ["a stream of a file", reading("secret/key::$DATA"), { deny: ["Read(./secret/key)"] }, "bypass", "deny"],
    [
      "one need of many",
      builtInCall("r", "read", [
        { type: "read", path: "a" },
        { type: "read", path: "secret/k" },
      ]),
      { deny: ["Read(./secret/**)"] },
      "bypass",
      "deny",
    ],
    [
      "a name without a slash at any depth, as Claude reads it",
      reading("a/b/.env"),
      { deny: ["Read(.env)"] },
      "bypass",
      "deny",
    ],
    ["a name with ./ only there", reading("a/b/.env"), { deny: ["Read(./.env)"] }, "ask", "allow"],
    ["deleting a folder above", deleting("data"), { deny: ["Edit(./data/keep/**)"] }, "bypass", "ask"],
    ["deleting a folder beside", deleting("tmp"), { deny: ["Edit(./data/keep/**)"] }, "bypass", "allow"],
    ["searching a folder that holds it", searching("."), { deny: ["Read(.env)"] }, "ask", "ask"],
    ["searching a folder above", searching("data"), { deny: ["Read(./data/keep/**)"] }, "ask", "ask"],
    ["searching a folder beside", searching("src"), { deny: ["Read(./data/keep/**)"] }, "ask", "allow"],
    ["searching what is meant", searching("data/keep"), { deny: ["Read(./data/keep/**)"] }, "ask", "deny"],
    ["searching under a rule for writes", searching("."), { deny: ["Edit(.env)"] }, "ask", "allow"],
    ["deleting a folder above the root", deleting("/home"), { deny: ["Edit(./data/keep/**)"] }, "bypass", "ask"],
    ["a rule with a pattern for a tool that declares no needs", inCode(), { deny: ["refund(x)"] }, "bypass", "ask"],
    ["a file beside", reading("secrets/key"), { deny: ["Read(./secret/**)"] }, "ask", "allow"],
  ]);

  const guarded = [
    ".git/config",
    ".git",
    ".git/hooks/pre-commit",
    "vendor/lib/.git/config",
    ".GIT/config",
    ".g\u200cit/config",
    ".git./config",
    ".git /config",
    ".git::$INDEX_ALLOCATION/config",
    "GIT~1/config",
    "src/../.git/config",
    "././/.git/config",
    `${ROOT}/.git/config`,
    "/Home/ann/project/.git/config",
    ".hg/hgrc",
    ".capstan/agents/a.md",
    ".claude/settings.json",
    ".Claude/settings.local.json",
    ".mcp.json",
    "AGENTS.md",
    "docs/CLAUDE.md",
    "capstan.config.ts",
    ".vscode/tasks.json",
    ".husky/pre-push",
    ".envrc",
    ".npmrc",
    "/home/ann/.bashrc",
    "/home/ann/.ssh/authorized_keys",
    "../.profile",
    "/home/ann/.config/autostart/x.desktop",
    "/etc/profile.d/x.sh",
    ".",
    "",
    "..",
    "/",
  ];
  for (const path of guarded) {
    for (const mode of ["ask", "accept-edits", "bypass"] as const) {
      it(`G17 asks before ${mode} writes ${JSON.stringify(path)}`, () => {
        const verdict = evaluate(
          writing(path),
          policy({ allow: ["write_file", "Edit", "Edit(/**)", "Edit(**)"] }, mode),
        );
        assert.deepEqual([verdict.verdict, verdict.by, verdict.remember], ["ask", "protected", false]);
        assert.match(verdict.reason, /^[^\n]+$/);
      });
    }
  }

  table("G17 what is not protected", [
    ["reading", reading(".git/config"), {}, "ask", "allow"],
    ["a name that only begins so", writing(".github/workflows/ci.yml"), {}, "bypass", "allow"],
    [".gitignore", writing(".gitignore"), {}, "accept-edits", "allow"],
    ["a folder named like a file", writing("agents.md/readme"), {}, "accept-edits", "allow"],
    [
      "a root below a protected name",
      { ...writing("src/a"), root: "/home/ann/.claude/worktrees/x" },
      {},
      "accept-edits",
      "allow",
    ],
  ]);

  table("paths on Windows", [
    [
      "inside, either slash",
      { ...writing("src\\a.ts"), root: "C:\\proj" },
      { allow: ["write_file(./src/**)"] },
      "ask",
      "allow",
    ],
    [
      "the drive in another case",
      { ...writing("c:/proj/src/a.ts"), root: "C:\\proj" },
      { allow: ["write_file(./src/**)"] },
      "ask",
      "allow",
    ],
    [
      ".. with back slashes",
      { ...writing("src\\..\\..\\x"), root: "C:\\proj" },
      { allow: ["write_file(**)"] },
      "ask",
      "ask",
    ],
    [
      "another drive",
      { ...writing("D:\\proj\\src\\a.ts"), root: "C:\\proj" },
      { allow: ["write_file(**)"] },
      "ask",
      "ask",
    ],
    [
      "an absolute rule",
      { ...writing("D:\\x\\a.ts"), root: "C:\\proj" },
      { allow: ["write_file(D:/x/**)"] },
      "ask",
      "allow",
    ],
    ["a share", { ...writing("\\\\proj\\src\\a.ts"), root: "C:\\proj" }, { allow: ["write_file(**)"] }, "ask", "ask"],
    [
      "relative to a drive's folder",
      { ...writing("C:src\\a.ts"), root: "C:\\proj" },
      { allow: ["write_file"] },
      "bypass",
      "ask",
    ],
    [
      "a device path",
      { ...writing("\\\\?\\C:\\proj\\a"), root: "C:\\proj" },
      { allow: ["write_file"] },
      "bypass",
      "ask",
    ],
    [
      "dots with blanks, which go up",
      { ...writing("src/.. /x"), root: "C:\\proj" },
      { allow: ["write_file"] },
      "bypass",
      "ask",
    ],
    ["a short name", { ...writing("SECRET~1\\a"), root: "C:\\proj" }, { allow: ["write_file"] }, "bypass", "ask"],
  ]);
});

describe("evaluate: commands", () => {
  const hostile = [
    "npm test; id",
    "npm test && id",
    "npm test || id",
    "npm test | sh",
    "npm test & id",
    "npm test\nid",
    "npm test\r\nid",
    "npm test\n",
    "npm test # x",
    "npm test $(id)",
    "npm test `id`",
    "npm test $HOME",
    "npm test ${x}",
    "npm test > out",
    "npm test 2>&1",
    "npm test < in",
    "npm test <(id)",
    "npm test << EOF",
    "npm test <<< x",
    "npm 'test'",
    'npm "test"',
    "npm te\\st",
    "npm\\ test",
    "A=b npm test",
    "PATH=.:$PATH npm test",
    "npm test *",
    "npm test ?",
    "npm test [a]",
    "npm test {a,b}",
    "npm test ~",
    "! npm test",
    "(npm test)",
    "{ npm test; }",
    "npm\u00a0test",
    "npm\u2003test",
    "npm\u3000test",
    "npm\vtest",
    "npm\ftest",
    "npm test\u200b",
    "npm t\u0435st",
    "NPM test",
    "npm Test",
    "./npm test",
    "/usr/bin/npm test",
    "npm test extra",
    "npm",
    "npmtest",
    "xnpm test",
    "env npm test",
    "",
    " ",
    "-npm test",
    "%1",
    `npm test ${"x ".repeat(50_000)}`,
  ];
  for (const command of hostile) {
    it(`G14 a rule for \`npm test\` does not allow ${JSON.stringify(command).slice(0, 40)}`, () => {
      assert.equal(word(shell(command), { allow: ["shell(npm test)"] }), "ask");
    });
  }

  table("PERM-02 G14 a command rule that allows", [
    ["the command", shell("npm test"), { allow: ["shell(npm test)"] }, "ask", "allow"],
    ["with other blanks", shell("  npm \t test "), { allow: ["shell(npm test)"] }, "ask", "allow"],
    ["by its alias", shell("npm test"), { allow: ["Bash(npm test)"] }, "ask", "allow"],
    ["a prefix with nothing after", shell("git diff"), { allow: ["shell(git diff *)"] }, "ask", "allow"],
    ["a prefix with words after", shell("git diff --stat src/a.ts"), { allow: ["shell(git diff *)"] }, "ask", "allow"],
    ["a prefix in Claude's older form", shell("npm run test:unit"), { allow: ["Bash(npm run test:*)"] }, "ask", "ask"],
    [
      "whole words of Claude's older form",
      shell("npm run test --watch"),
      { allow: ["Bash(npm run test:*)"] },
      "ask",
      "allow",
    ],
    ["a prefix is whole words", shell("git difftool"), { allow: ["shell(git diff *)"] }, "ask", "ask"],
    ["a prefix is literal too", shell("git diff > .bashrc"), { allow: ["shell(git diff *)"] }, "ask", "ask"],
    ["a prefix and a chain", shell("git diff; id"), { allow: ["shell(git diff *)"] }, "ask", "ask"],
    [
      "options before the subcommand",
      shell("git -c core.pager=x diff"),
      { allow: ["shell(git diff *)"] },
      "ask",
      "ask",
    ],
    ["* is any one literal command", shell("ls -la"), { allow: ["shell(*)"] }, "ask", "allow"],
    ["* is not a chain", shell("ls; id"), { allow: ["shell(*)"] }, "ask", "ask"],
    ["the bare name is every call", shell("ls; id"), { allow: ["shell"] }, "ask", "allow"],
    ["the bare alias is every command", shell("ls; id"), { allow: ["Bash"] }, "ask", "allow"],
    [
      "two commands of one call need two rules",
      builtInCall("shell", "execute", [
        { type: "execute", command: "ls" },
        { type: "execute", command: "id" },
      ]),
      { allow: ["shell(ls)"] },
      "ask",
      "ask",
    ],
    [
      "a command and a file need both",
      builtInCall("shell", "execute", [
        { type: "execute", command: "ls" },
        { type: "write", path: "out" },
      ]),
      { allow: ["shell(ls)"] },
      "ask",
      "ask",
    ],
    [
      "a command and a file with both",
      builtInCall("shell", "execute", [
        { type: "execute", command: "ls" },
        { type: "write", path: "out" },
      ]),
      { allow: ["shell(ls)", "Edit(./out)"] },
      "ask",
      "allow",
    ],
  ]);

  table("G15 a command rule that denies", [
    ["the command", shell("git push"), { deny: ["shell(git push *)"] }, "bypass", "deny"],
    ["with words after", shell("git push --force origin"), { deny: ["shell(git push *)"] }, "bypass", "deny"],
    ["by a path of the program", shell("/usr/bin/git push"), { deny: ["shell(git push *)"] }, "bypass", "deny"],
    ["by another case of the program", shell("GIT push"), { deny: ["shell(git push *)"] }, "bypass", "deny"],
    ["by its name on Windows", shell("git.exe push"), { deny: ["shell(git push *)"] }, "bypass", "deny"],
    ["by a wrapper", shell("sudo git push"), { deny: ["shell(git push *)"] }, "bypass", "ask"],
    ["by a wrapper that hides it", shell("env -Sgit_push"), { deny: ["shell(git push *)"] }, "bypass", "ask"],
    ["by a script", shell("bash push.sh"), { deny: ["shell(git push *)"] }, "bypass", "ask"],
    ["by options before", shell("git -C sub push"), { deny: ["shell(git push *)"] }, "bypass", "ask"],
    ["by an alias in options", shell("git -c alias.p=push p"), { deny: ["shell(git push *)"] }, "bypass", "ask"],
    ["by -exec", shell("find . -exec git push +"), { deny: ["shell(git push *)"] }, "bypass", "ask"],
    ["in a chain", shell("ls && git push"), { deny: ["shell(git push *)"] }, "bypass", "ask"],
    ["in quotes", shell("'git' push"), { deny: ["shell(git push *)"] }, "bypass", "ask"],
    ["in an expansion", shell("$X push"), { deny: ["shell(git push *)"] }, "bypass", "ask"],
    [
      "not literal, allowed by the bare name",
      shell("ls | wc"),
      { allow: ["shell"], deny: ["shell(git push *)"] },
      "ask",
      "ask",
    ],
    [
      "not literal, under an ask rule",
      shell("ls | wc"),
      { allow: ["shell"], ask: ["shell(git push *)"] },
      "bypass",
      "ask",
    ],
    [
      "not literal, nobody to ask",
      shell("ls | wc"),
      { allow: ["shell"], deny: ["shell(git push *)"] },
      "never-ask",
      "deny",
    ],
    ["everything", shell("ls | wc"), { deny: ["shell(*)"] }, "bypass", "deny"],
    ["everything by name", shell("ls | wc"), { deny: ["Bash"] }, "bypass", "deny"],
    ["another command", shell("git status"), { deny: ["shell(git push *)"] }, "bypass", "allow"],
    [
      "a literal command beside, allowed",
      shell("git status"),
      { allow: ["shell(git status)"], deny: ["shell(git push *)"] },
      "ask",
      "allow",
    ],
    ["one exact command, another with more words", shell("git push x"), { deny: ["shell(git push)"] }, "bypass", "ask"],
    [
      "an ask rule asks before the command",
      shell("git push"),
      { allow: ["shell"], ask: ["shell(git push *)"] },
      "bypass",
      "ask",
    ],
    [
      "a deny rule for files does not judge commands",
      shell("ls | wc"),
      { deny: ["Read(./secret)"] },
      "bypass",
      "allow",
    ],
  ]);
});

describe("evaluate: addresses, servers, other needs", () => {
  table("G14 an address rule", [
    [
      "the host",
      fetching("https://docs.example.com/a?b"),
      { allow: ["web_fetch(domain:docs.example.com)"] },
      "ask",
      "allow",
    ],
    [
      "the host in another case and with a dot",
      fetching("https://DOCS.example.com./a"),
      { allow: ["web_fetch(domain:docs.example.com)"] },
      "ask",
      "allow",
    ],
    ["a name below", fetching("https://a.example.com/"), { allow: ["web_fetch(*.example.com)"] }, "ask", "allow"],
    [
      "the name itself is not below",
      fetching("https://example.com/"),
      { allow: ["web_fetch(*.example.com)"] },
      "ask",
      "ask",
    ],
    [
      "a suffix that is another host",
      fetching("https://evilexample.com/"),
      { allow: ["web_fetch(*.example.com)", "web_fetch(domain:example.com)"] },
      "ask",
      "ask",
    ],
    [
      "a prefix that is another host",
      fetching("https://example.com.evil.net/"),
      { allow: ["web_fetch(domain:example.com)"] },
      "ask",
      "ask",
    ],
    [
      "a user that looks like a host",
      fetching("https://example.com@evil.net/"),
      { allow: ["web_fetch(domain:example.com)"] },
      "ask",
      "ask",
    ],
    ["credentials", fetching("https://u:p@example.com/"), { allow: ["web_fetch(domain:example.com)"] }, "ask", "ask"],
    [
      "a back slash",
      fetching("https://evil.net\\@example.com/"),
      { allow: ["web_fetch(domain:example.com)"] },
      "ask",
      "ask",
    ],
    ["another port", fetching("https://example.com:8443/"), { allow: ["web_fetch(domain:example.com)"] }, "ask", "ask"],
    [
      "the port it names",
      fetching("https://example.com:8443/"),
      { allow: ["web_fetch(domain:example.com:8443)"] },
      "ask",
      "allow",
    ],
    ["another scheme", fetching("ftp://example.com/"), { allow: ["web_fetch(domain:example.com)"] }, "ask", "ask"],
    [
      "http under an https rule",
      fetching("http://example.com/a"),
      { allow: ["web_fetch(https://example.com/*)"] },
      "ask",
      "ask",
    ],
    [
      "a path",
      fetching("https://example.com/docs/a"),
      { allow: ["web_fetch(https://example.com/docs/*)"] },
      "ask",
      "allow",
    ],
    [
      "a path left by ..",
      fetching("https://example.com/docs/../admin"),
      { allow: ["web_fetch(https://example.com/docs/*)"] },
      "ask",
      "ask",
    ],
    [
      "a path left by %2e%2e",
      fetching("https://example.com/docs/%2e%2e/admin"),
      { allow: ["web_fetch(https://example.com/docs/*)"] },
      "ask",
      "ask",
    ],
    ["a file", fetching("file:///etc/passwd"), { allow: ["web_fetch(*)"] }, "ask", "ask"],
    ["no address", fetching("example.com"), { allow: ["web_fetch(*)"] }, "ask", "ask"],
    ["any web address", fetching("https://a.example/"), { allow: ["web_fetch(*)"] }, "ask", "allow"],
    [
      "a number that is a denied address",
      fetching("http://0x7f.1/"),
      { deny: ["web_fetch(domain:127.0.0.1)"] },
      "bypass",
      "deny",
    ],
    [
      "a denied host on any port with credentials",
      fetching("http://u@EXAMPLE.com.:99/x"),
      { deny: ["web_fetch(domain:example.com)"] },
      "bypass",
      "deny",
    ],
    [
      "a denied path, encoded",
      fetching("https://example.com/%61dmin/x"),
      { deny: ["web_fetch(https://example.com/admin/*)"] },
      "bypass",
      "deny",
    ],
    [
      "no address under a deny rule",
      fetching("http://["),
      { deny: ["web_fetch(domain:example.com)"] },
      "bypass",
      "ask",
    ],
  ]);

  table("rules for tools of MCP servers", [
    ["the server", mcp(), { allow: ["mcp:github/*"] }, "ask", "allow"],
    ["the tool", mcp(), { allow: ["mcp:github/create_issue"] }, "ask", "allow"],
    ["a server whose name begins so", mcp({ tool: "mcp:github-evil/x" }), { allow: ["mcp:github/*"] }, "ask", "ask"],
    ["another tool", mcp({ tool: "mcp:github/delete" }), { allow: ["mcp:github/create_issue"] }, "ask", "ask"],
    ["a look-alike", mcp({ tool: "mcp:g\u0456thub/x" }), { allow: ["mcp:github/*"] }, "ask", "ask"],
    [
      "a deny for one tool of an allowed server",
      mcp(),
      { allow: ["mcp:github/*"], deny: ["mcp:github/create_issue"] },
      "bypass",
      "deny",
    ],
    ["a tool named like a built-in one", mcp({ tool: "mcp:x/read_file" }), { allow: ["read_file"] }, "ask", "ask"],
  ]);

  table("rules for tools with other needs", [
    [
      "the text",
      inCode({ needs: [{ type: "other", what: "order 7" }], standing: "ask" }),
      { allow: ["refund(order 7)"] },
      "ask",
      "allow",
    ],
    [
      "other text",
      inCode({ needs: [{ type: "other", what: "order 77" }], standing: "ask" }),
      { allow: ["refund(order 7)"] },
      "ask",
      "ask",
    ],
    [
      "a star",
      inCode({ needs: [{ type: "other", what: "order 77" }], standing: "ask" }),
      { allow: ["refund(order *)"] },
      "ask",
      "allow",
    ],
    [
      "a deny in another case",
      inCode({ needs: [{ type: "other", what: "ORDER 77" }] }),
      { deny: ["refund(order *)"] },
      "ask",
      "deny",
    ],
  ]);
});

describe("rulesFor", () => {
  const rows: readonly (readonly [CallFacts, string | undefined])[] = [
    [writing("src/a.ts"), "write_file(./src/a.ts)"],
    [writing("src/../b.ts"), "write_file(./b.ts)"],
    [writing("/srv/a b"), "write_file(/srv/a b)"],
    [writing("app/[id]/*.tsx"), "write_file(./app/\\[id\\]/\\*.tsx)"],
    [writing("app/(group)/{x}.tsx"), "write_file(./app/(group)/\\{x\\}.tsx)"],
    [writing("a\nb"), undefined],
    [writing(".git/config"), undefined],
    [writing("x\0"), undefined],
    [{ ...writing("D:\\x\\a"), root: "C:\\proj" }, "write_file(d:/x/a)"],
    [reading("/etc/hosts"), "read_file(/etc/hosts)"],
    [shell("npm  test"), "shell(npm test)"],
    [shell("cd .."), "shell(cd ..)"],
    [shell("npm test; id"), undefined],
    [shell("npm 'test'"), undefined],
    [fetching("https://example.com/a/b?c"), "web_fetch(domain:example.com)"],
    [fetching("https://example.com:8443/a"), "web_fetch(domain:example.com:8443)"],
    [fetching("https://u:p@example.com/"), undefined],
    [fetching("file:///etc/passwd"), undefined],
    [mcp(), "mcp:github/create_issue"],
    [mcp({ tool: "mcp:git hub/x", needs: [] }), undefined],
    [inCode(), "refund"],
    [inCode({ needs: [{ type: "other", what: "order 7" }] }), "refund(order 7)"],
    [inCode({ needs: [{ type: "other", what: "order *" }] }), undefined],
    [
      builtInCall("edit_file", "edit", [
        { type: "read", path: "a" },
        { type: "write", path: "a" },
      ]),
      "edit_file(./a)",
    ],
    [
      builtInCall("move", "move", [
        { type: "write", path: "a" },
        { type: "write", path: "b" },
      ]),
      undefined,
    ],
  ];
  for (const [call, text] of rows) {
    it(`PERM-03 stores ${text} for ${JSON.stringify(call.needs)}`, () => {
      assert.deepEqual(rulesFor(call), text === undefined ? [] : [text]);
      if (text === undefined) return;
      assert.equal(
        evaluate({ ...call, standing: "ask" }, { mode: "ask", tiers: [tier("session", { allow: [text] })] }).verdict,
        "allow",
      );
    });
  }

  it("PERM-03 what was remembered allows that path and no other", () => {
    fc.assert(
      fc.property(paths(), paths(), (first, second) => {
        const [rule] = rulesFor(writing(first));
        if (rule === undefined) return;
        const tiers = [tier("session", { allow: [rule] })];
        assert.equal(evaluate(writing(first), { mode: "ask", tiers }).verdict, "allow");
        const same = rulesFor(writing(second))[0] === rule;
        assert.equal(evaluate(writing(second), { mode: "ask", tiers }).verdict === "allow", same);
      }),
    );
  });

  it("offers to remember only what a rule would change", () => {
    assert.equal(evaluate(writing("a"), policy()).remember, true);
    assert.equal(evaluate(shell("ls"), policy()).remember, true);
    assert.equal(evaluate(shell("ls; id"), policy()).remember, false);
    assert.equal(evaluate(writing("a"), policy({ ask: ["write_file"] })).remember, false);
    assert.equal(evaluate({ ...writing("a"), hook: "ask" }, policy()).remember, false);
    assert.equal(evaluate(inCode({ word: "ask" }), policy()).remember, false);
    assert.equal(evaluate(inCode({ standing: "ask" }), policy()).remember, true);
  });
});

describe("evaluate: properties", () => {
  it("G15 adding a deny or ask rule never makes a verdict more permissive, and a deny stays in every mode", () => {
    const rank = { deny: 0, ask: 1, allow: 2 };
    const rules = [
      "write_file",
      "Edit(./src/**)",
      "Edit(**)",
      "Read(.env)",
      "write_file(/**)",
      "shell(npm *)",
      "shell(git push *)",
    ];
    const modes: readonly PermissionMode[] = ["ask", "accept-edits", "bypass", "plan", "never-ask"];
    fc.assert(
      fc.property(
        fc.oneof(paths().map(writing), paths().map(reading), commands().map(shell)),
        fc.subarray(rules),
        fc.constantFrom(...rules),
        fc.constantFrom("ask" as const, "deny" as const),
        fc.constantFrom(...modes),
        (call, allow, added, list, mode) => {
          const before = evaluate(call, policy({ allow }, mode));
          const after = evaluate(call, policy({ allow, [list]: [added] }, mode));
          assert.ok(rank[after.verdict] <= rank[before.verdict]);
          if (before.verdict === "deny" && before.by !== "default") {
            assert.equal(evaluate(call, policy({ allow: [...allow, ...rules] }, mode)).verdict, "deny");
          }
        },
      ),
    );
  });

  it("G14 a command that is allowed by a rule has only the words of that rule", () => {
    fc.assert(
      fc.property(fc.oneof(commands(), fc.string({ unit: "binary" })), (command) => {
        const verdict = word(shell(command), { allow: ["shell(npm test)"] });
        assert.equal(verdict === "allow", /^[ \t]*npm[ \t]+test[ \t]*$/.test(command) && !command.includes("\n"));
      }),
    );
  });

  it("gives one inert line as its reason whatever the model wrote", () => {
    const call = fc.oneof(
      fc.string({ unit: "binary" }).map(writing),
      fc.string({ unit: "binary" }).map(shell),
      fc.string().map(fetching),
    );
    fc.assert(
      fc.property(call, (facts) => {
        const { reason } = evaluate(facts, policy({ deny: ["shell(git push *)"] }));
        assert.doesNotMatch(reason, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        assert.ok(reason.length < 600);
      }),
    );
    const server = mcp({ tool: "mcp:x/\u001b[2J\n\u202etool" });
    for (const mode of ["ask", "plan", "never-ask"] as const) {
      assert.doesNotMatch(evaluate({ ...server, standing: "ask" }, policy({}, mode)).reason, /[\p{Cc}\p{Cf}]/u);
    }
    assert.doesNotMatch(evaluate(writing("\u001b[2J/\u202e.git/x\n"), policy()).reason, /[\p{Cc}\p{Cf}]/u);
  });

  it("decides hostile lengths at once", () => {
    const rules = { deny: [`Read(${"**/a*/".repeat(10)}b)`, `read_file(${"*a".repeat(50)}b)`, "shell(a b *)"] };
    assert.equal(word(reading("a".repeat(8_000)), rules), "allow");
    assert.equal(word(reading("a/".repeat(8_000)), rules), "allow");
    assert.equal(word(shell("a ".repeat(500_000)), rules), "ask");
  });
});

describe("checkRules", () => {
  const names = ["read_file", "shell", "mcp:github/create_issue", "mcp:linear/*"];

  it("accepts rules that name known tools, aliases and servers", () => {
    const allow = [
      "read_file(./x)",
      "shell",
      "Read(x)",
      "Bash(ls)",
      "mcp:github/*",
      "mcp:github/create_issue",
      "mcp:linear/x",
      "mcp:linear/*",
    ];
    checkRules(policy({ allow }), names);
  });

  for (const text of ["raed_file", "Shell(ls)", "mcp:gitlab/*", "mcp:github/none", "mcp:lin/*", "Grep(x)"]) {
    it(`refuses ${text} by its name`, () => {
      for (const list of ["allow", "ask", "deny"]) {
        assert.throws(
          () => checkRules(policy({ [list]: [text] }), names),
          (error: unknown) => CapstanError.is(error, "rule-invalid") && error.message.includes(text),
        );
      }
    });
  }

  it("does not check remembered rules, which outlive their tools", () => {
    checkRules({ mode: "ask", tiers: [tier("session", { allow: ["gone"] })] }, names);
  });
});

function paths(): fc.Arbitrary<string> {
  const name = fc.constantFrom(
    "src",
    "a.ts",
    "..",
    ".",
    "",
    "*",
    "{a,b}",
    "[x]",
    "\\",
    ".git",
    "A",
    "a",
    "~",
    "!",
    " ",
    "lib",
  );
  return fc
    .tuple(fc.constantFrom("", "./", "/", `${ROOT}/`), fc.array(name, { maxLength: 5 }))
    .map(([start, names]) => start + names.join("/"));
}
function commands(): fc.Arbitrary<string> {
  const piece = fc.constantFrom(
    "npm",
    "test",
    "git",
    "push",
    " ",
    "  ",
    "\t",
    "\n",
    ";",
    "&",
    "|",
    "$",
    "'",
    "#",
    "=",
    "*",
  );
  return fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
}
