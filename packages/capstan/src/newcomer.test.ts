import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { userInfo } from "node:os";
import { describe, expect, it } from "vitest";
import { type AnthropicReply, anthropicServer } from "@capstan/models/testing";
import { type ChildEnd, commandHome, runChild } from "./command-child.ts";
import { inertJson } from "./cli/inert.ts";
import { homeFolder } from "./home-folders.ts";

/** What `npx capstan` starts in a clone. */
const LAUNCHER = [process.execPath, join(import.meta.dirname, "../bin/capstan.js")];
const KEY = "sk-test-0123456789";
const text = (value: string): AnthropicReply => ({ content: [{ type: "text", text: value }] });
const never: AnthropicReply = {
  ...text("Half an answer that never ends"),
  delivery: { stall: { afterBytes: 700, until: new Promise(() => undefined) } },
};
const oneLine = (stderr: string): void => expect(stderr).toMatch(/^capstan: [^\n]+ \(usage\)\n$/);

describe.concurrent("the launcher of a clone", { timeout: 120_000 }, () => {
  async function signalled(signal: NodeJS.Signals): Promise<ChildEnd> {
    await using server = await anthropicServer([never]);
    await using at = await commandHome({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url });
    let sent = false;
    return await runChild([...LAUNCHER, "run", "talk", "--output", "stream-json"], {
      env: at.env,
      cwd: at.folder,
      onOutput(shown, child) {
        if (sent || !shown.includes("text.delta")) return;
        sent = true;
        child.kill(signal);
      },
    });
  }

  it("LOOP-08 hands Ctrl-C to the command, and its exit code back", async () => {
    const end = await signalled("SIGINT");
    expect(end).toMatchObject({ code: 130 });
    expect(end.stderr).toContain("(interrupted)");
  });

  it("DUR-11 hands SIGTERM to the command, which says how to go on", async () => {
    const end = await signalled("SIGTERM");
    expect(end).toMatchObject({ code: 143 });
    expect(end.stderr).toMatch(/"capstan resume ses_\w+" goes on with it\n$/);
  });

  it("says in one line that Node is too old", async () => {
    const pretend = "data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '20.20.2' })";
    const [node = "", ...rest] = LAUNCHER;
    const end = await runChild([node, "--import", pretend, ...rest, "run", "hi"], {});
    expect(end).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^capstan: [^\n]*Node 24 or newer; this is v20\.20\.2[^\n]*\n$/),
    });
  });
});

describe.concurrent("what people type first", { timeout: 120_000 }, () => {
  it("CLI-04 shows help and version by the words that most commands know", async () => {
    await using at = await commandHome();
    const help = await at.run(["help", "run"]);
    expect(help).toEqual({ ...(await at.run(["run", "--help"])), stderr: "" });
    expect(help.stdout).toContain("Usage: capstan run");
    expect(await at.run(["-v"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  it.each([
    ["a prompt without the command", ["fix the test"]],
    ["a prompt without quotes", ["run", "fix", "the", "test"]],
  ])("CLI-04 tells %s how to give it", async (_what, args) => {
    await using at = await commandHome();
    const end = await at.run(args);
    expect(end.code).toBe(2);
    oneLine(end.stderr);
    expect(end.stderr).toContain('to give a prompt: capstan run "..."');
  });

  it("CLI-04 refuses the empty value of an unset variable, in place of taking another session or model", async () => {
    await using at = await commandHome();
    for (const option of ["--key", "--session", "--idempotency-key", "--model", "--agent", "--cwd", "--config"]) {
      const end = await at.run(["run", "hi", option, ""]);
      expect(end.code).toBe(2);
      oneLine(end.stderr);
      expect(end.stderr).toContain("must not be empty");
    }
    oneLine((await at.run(["policy", "explain", " "])).stderr);
  });

  it("PERM-05 EDGE-09 names the rules for a command that writes a file, and they are enough", async () => {
    const redirect = "echo a > out";
    const call: AnthropicReply = {
      content: [{ type: "tool_use", id: "tu_s", name: "shell", input: { command: redirect } }],
    };
    await using server = await anthropicServer([call, text("No."), call, text("Yes.")]);
    await using at = await commandHome({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url });
    const offer = "allow with --allow 'Edit(./out)' --allow 'shell(echo a)'";
    expect((await at.run(["policy", "explain", redirect])).stdout).toContain(offer);
    const refused = await at.run(["run", "write"]);
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining(offer) });
    const allowed = await at.run(["run", "write", "--allow", "Edit(./out)", "--allow", "shell(echo a)"]);
    expect(allowed).toMatchObject({ code: 0, stdout: "Yes.\n" });
    expect(await readFile(join(at.folder, "out"), "utf8")).toBe("a\n");
    expect((await at.run(["policy", "explain", "echo a > .git/config"])).stdout).not.toContain("allow with");
  });

  it("says that no folder was trusted yet", async () => {
    await using at = await commandHome();
    expect(await at.run(["trust", "--list"])).toEqual({ code: 0, stdout: "", stderr: "No folder was trusted yet.\n" });
  });

  it("SESS-17 imports nothing from a list that holds no message", async () => {
    await using at = await commandHome();
    await writeFile(join(at.folder, "list.json"), '[{ "name": "left-pad" }]');
    const end = await at.run(["sessions", "import", "list.json"]);
    expect(end).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("There is no message") });
    expect((await at.run(["sessions", "list"])).stderr).toContain("There are no sessions yet");
  });

  it("tells a broken settings file once in doctor, and looks at the rest", async () => {
    await using at = await commandHome();
    await mkdir(at.home);
    await writeFile(join(at.home, "settings.json"), "{");
    const end = await at.run(["doctor"]);
    expect(end.code).toBe(1);
    const problems = end.stdout.split("\n").filter((line) => line.startsWith("PROBLEM"));
    expect(problems).toEqual([expect.stringMatching(/^PROBLEM {2}settings .*\(config-invalid\)$/)]);
  });

  it("DUR-08 says for each unfinished session why it cannot go on", async () => {
    await using server = await anthropicServer(() => never);
    await using at = await commandHome({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url });
    const left = async (): Promise<void> => {
      let sent = false;
      await at.run(["run", "talk", "--output", "stream-json"], {
        onOutput(shown, child) {
          if (!sent && shown.includes("text.delta")) sent = child.kill("SIGTERM");
        },
      });
    };
    await Promise.all([left(), left()]);
    const end = await at.run(["resume"], { env: { ANTHROPIC_API_KEY: "" } });
    expect(end.code).toBe(2);
    const lines = end.stderr.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toMatch(/^capstan: Session ses_\w+: .*\(model-key-missing\)$/);
  });
});

describe("a home that is none", () => {
  it.each(["", "relative"])("G15 takes no folder of the project for HOME=%j", async (HOME) => {
    await using at = await commandHome();
    await mkdir(join(at.folder, ".claude"));
    await writeFile(join(at.folder, ".claude/settings.json"), '{ "permissions": { "allow": ["Bash(greet hi)"] } }');
    const env = { HOME, CLAUDE_CONFIG_DIR: ".claude" };
    const asked = await at.run(["policy", "explain", "greet hi"], { env });
    expect(asked.stdout).toMatch(/^ask: /);
    expect(await readdir(at.folder)).toEqual([".claude"]);
    expect(await readFile(join(at.folder, ".claude/settings.json"), "utf8")).toContain("greet hi");
  });

  it("G15 falls back to the account's own folder", () => {
    for (const named of ["", "relative"]) expect(homeFolder(named)).toBe(userInfo().homedir);
    expect(homeFolder("/absolute")).toBe("/absolute");
  });
});

describe("inertJson", () => {
  it("G20 keeps the value, and leaves nothing active for a terminal", () => {
    const value = { text: "a\u009b31m\u202eb\u{e0041}\tc\n" };
    const line = inertJson(JSON.stringify(value));
    expect(line).toMatch(/^[\x20-\x7e]*$/);
    expect(JSON.parse(line)).toEqual(value);
  });
});
