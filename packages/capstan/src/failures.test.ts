import { mkdir, readFile, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ChildEnd, type ChildOptions, COMMAND, commandHome, runChild, SOURCE_COMMAND } from "./command-child.ts";

type Case = readonly [what: string, args: readonly string[], code: string, exit: number, options?: ChildOptions];

const DEMO = ["--model", "demo"];
const CASES: readonly Case[] = [
  ["without a key", ["run", "hi"], "model-key-missing", 2],
  ["an unknown provider", ["run", "hi", "--model", "nope/x"], "model-unknown", 2],
  ["an unknown agent", ["run", "hi", "--agent", "nope"], "agent-unknown", 2],
  ["a missing folder", ["run", "hi", "--cwd", "/nowhere/at/all", ...DEMO], "workspace-missing", 2],
  ["an unknown session", ["run", "hi", "--session", "ses_x", ...DEMO], "session-not-found", 2],
  ["an unknown session to show", ["sessions", "show", "ses_x"], "session-not-found", 2],
  ["an unknown session to delete", ["sessions", "delete", "ses_x"], "session-not-found", 2],
  ["an unknown session to resume", ["resume", "ses_x"], "session-not-found", 2],
  ["an unknown option", ["run", "--frob"], "usage", 2],
  ["an unknown command", ["frob"], "usage", 2],
  ["an unknown mode", ["run", "hi", "--mode", "maybe"], "usage", 2],
  ["no number", ["run", "hi", "--max-usd", "much"], "usage", 2],
  ["two prompts", ["run", "hi", "-p", "ho"], "usage", 2],
  ["two names of a session", ["run", "hi", "--session", "a", "--key", "b"], "usage", 2],
  ["no prompt", ["run", ...DEMO], "usage", 2],
  ["a blank prompt", ["run", " ", ...DEMO], "usage", 2],
  ["a rule that names no tool", ["run", "hi", "--allow", "shel(ls)", ...DEMO], "rule-invalid", 2],
  ["a rule that is none", ["run", "hi", "--deny", "shell(", ...DEMO], "rule-invalid", 2],
  ["a missing configuration", ["run", "hi", "--config", "none.ts"], "config-invalid", 2],
  ["binary input", ["run", ...DEMO], "input-invalid", 2, { input: new Uint8Array([0, 159, 146, 150]) }],
  ["input that is not UTF-8", ["run", ...DEMO], "input-invalid", 2, { input: Buffer.from("caf\u00e9", "latin1") }],
  ["a huge prompt", ["run", ...DEMO], "input-too-large", 2, { input: "a".repeat(9_000_000) }],
  [
    "a data folder that cannot be made",
    ["run", "hi", ...DEMO],
    "store-readonly",
    1,
    { env: { CAPSTAN_HOME: "/dev/null/home" } },
  ],
];

describe.concurrent("capstan, as an outsider meets it", { timeout: 120_000 }, () => {
  for (const [what, args, code, exit, options] of CASES) {
    it(`CLI-04 answers ${what} with one line and ${exit}`, async () => {
      await using at = await commandHome();
      const end = await at.run(args, options);
      expect(end.stderr).toMatch(/^capstan: [^\n]+\n$/);
      expect(end.stderr).toContain(`(${code})`);
      expect(end).toMatchObject({ code: exit, stdout: "" });
    });
  }

  it("CLI-04 offers the demo to those without a key", async () => {
    await using at = await commandHome();
    const { stderr } = await at.run(["run", "hi"]);
    expect(stderr).toContain("ANTHROPIC_API_KEY");
    expect(stderr).toContain('"capstan demo"');
  });

  it("names the place in a broken settings file and leaves the file as it is", async () => {
    await using at = await commandHome();
    await mkdir(at.home);
    const file = join(at.home, "settings.json");
    for (const [broken, place] of [
      ['{\n  "model": "demo",,\n}', "line 2, column 19"],
      ['{ "permission": { "allow": ["sh ell"] } }', "permission.allow.0"],
      ['{ "modle": "demo" }', '"modle"'],
    ] as const) {
      await writeFile(file, broken);
      const end = await at.run(["run", "hi"]);
      expect(end).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^capstan: [^\n]*settings\.json: [^\n]*\(config-invalid\)\n$/),
      });
      expect(end.stderr).toContain(place);
      expect(await readFile(file, "utf8")).toBe(broken);
    }
  });

  it("takes model and rules from the settings file", async () => {
    await using at = await commandHome();
    await mkdir(at.home);
    await writeFile(join(at.home, "settings.json"), '{ "model": "demo", "permission": { "mode": "plan" } }');
    expect(await at.run(["run", "hi"])).toMatchObject({ code: 0, stdout: expect.stringContaining("demo model") });
  });

  it("names file and line of a broken configuration module", async () => {
    await using at = await commandHome();
    for (const [name, broken, place] of [
      ["types.ts", "const a: number = 1;\nexport default {,};\n", "types.ts:2: "],
      ["plain.mjs", "const a = 1;\nexport default {,};\n", "plain.mjs:2: "],
      ["throws.mjs", "\n\nthrow new Error('no luck');\n", "throws.mjs:3: no luck"],
      ["empty.mjs", "export const a = 1;\n", 'it needs "export default config('],
      ["a.json", '{ "agents": [{ "name": "a" }] }', "agents.0.model"],
    ] as const) {
      await writeFile(join(at.folder, name), broken);
      const end = await at.run(["run", "hi", "--config", name]);
      expect(end).toMatchObject({ code: 2, stderr: expect.stringMatching(/^capstan: [^\n]*\(config-invalid\)\n$/) });
      expect(end.stderr).toContain(place);
    }
  });

  it("runs an agent of a JSON configuration", async () => {
    await using at = await commandHome();
    await writeFile(
      join(at.folder, "a.json"),
      '{ "agents": [{ "name": "a", "model": "demo", "instructions": "Look.", "tools": ["glob"] }] }',
    );
    expect((await at.run(["run", "hi", "--config", "a.json"])).code).toBe(0);
  });

  it("EDGE-14 refuses a store that a newer Capstan wrote, and does not touch it", async () => {
    await using at = await commandHome();
    await at.run(["sessions", "list"]);
    const path = join(at.home, "capstan.db");
    const db = new DatabaseSync(path);
    db.exec("PRAGMA journal_mode = DELETE; PRAGMA user_version = 99");
    db.close();
    const before = await readFile(path);
    for (const args of [["sessions", "list"], ["run", "hi", ...DEMO], ["resume"]]) {
      expect(await at.run(args)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^capstan: [^\n]*\(store-newer\)\n$/),
      });
    }
    expect((await readFile(path)).equals(before)).toBe(true);
  });

  it("CLI-04 says that the folder it was started in is gone, and works in another one", async () => {
    await using at = await commandHome();
    const quoted = COMMAND.map((word) => `'${word}'`).join(" ");
    const inGoneFolder = (args: string): Promise<ChildEnd> =>
      runChild(["bash", "-c", `mkdir gone && cd gone && rmdir ../gone && exec ${quoted} ${args}`], {
        env: at.env,
        cwd: at.folder,
      });
    for (const args of ["run hi --model demo", "run hi --model demo --config a.ts"]) {
      expect(await inGoneFolder(args)).toEqual({
        code: 2,
        stdout: "",
        stderr: expect.stringMatching(/^capstan: [^\n]*no longer there[^\n]*\(workspace-missing\)\n$/),
      });
    }
    expect((await inGoneFolder(`run hi --model demo --cwd '${at.folder}'`)).code).toBe(0);
    expect((await inGoneFolder("sessions list")).code).toBe(0);
  });

  it("shows a stack only when asked to", async () => {
    await using at = await commandHome();
    const plain = await at.run(["sessions", "show", "ses_x"]);
    const debug = await at.run(["sessions", "show", "ses_x"], { env: { CAPSTAN_DEBUG: "1" } });
    expect(plain.stderr).not.toContain("    at ");
    expect(debug.stderr).toContain("    at ");
  });

  it("says in one line that Node is too old, before anything else loads", async () => {
    const pretend = "data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '20.20.2' })";
    const [node = "", ...rest] = SOURCE_COMMAND;
    const end = await runChild([node, "--import", pretend, ...rest, "run", "hi"], {});
    expect(end).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^capstan: [^\n]*Node 24 or newer; this is v20\.20\.2[^\n]*\n$/),
    });
  });

  it("shows help without loading an engine, a model or a tool", async () => {
    const spy =
      "data:text/javascript,import { registerHooks } from 'node:module'; registerHooks({ load(url, context, next) { process.stderr.write(url + '\\n'); return next(url, context); } })";
    const [node = "", ...rest] = SOURCE_COMMAND;
    const end = await runChild([node, "--import", spy, ...rest, "--help"], {});
    expect(end.code).toBe(0);
    expect(end.stdout).toContain("Usage: capstan");
    expect(end.stderr).toContain("commander");
    expect(end.stderr).not.toMatch(/packages\/(core|engines|models|tools)\//);
  });
});

it("G11 an installation that is not whole ends in one line, and does not report itself for ever", async () => {
  const broken =
    "data:text/javascript,import { registerHooks } from 'node:module';" +
    "registerHooks({ resolve(name, context, next) {" +
    "if (/(-command|failure)\\.ts$/.test(name)) throw new Error('gone'); return next(name, context); } });";
  const [node = "", ...rest] = SOURCE_COMMAND;
  const end = await runChild([node, "--import", broken, ...rest, "doctor"], {});
  expect(end).toEqual({
    code: 1,
    stdout: "",
    stderr: "capstan: This installation is not whole: Error: gone. Install it again (unexpected)\n",
  });
});
