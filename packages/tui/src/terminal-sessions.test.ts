import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { describe, expect, it } from "vitest";
import { scripted, terminalHome } from "./terminal-home.ts";

const pty = { spawn, Terminal: xterm.Terminal };
const READY = "? help";
const END = /\d turns? ·/;
const TALK = `[{ text: "First answer." }, { text: "Second answer." }, { text: "Third answer." }]`;

describe("sessions in the terminal", { concurrent: true, timeout: 120_000 }, () => {
  it("CLI-05 browses sessions: finds, opens, renames, forks and deletes", async () => {
    await using at = await terminalHome(pty);
    await using screen = at.open(await scripted(at, TALK), { columns: 100 });
    await screen.waitFor(READY);
    for (const title of ["apples", "pears", "plums"]) {
      screen.type(`${title}\r`);
      await screen.waitFor("First answer.");
      await screen.waitFor(END);
      screen.type("/new\r");
      await screen.waitUntil((shown) => !shown.includes("First answer."), "an empty conversation");
    }
    screen.type("/sessions\r");
    await screen.waitFor("Sessions of this folder (3)");
    screen.type("pea");
    await screen.waitFor("Sessions of this folder (1)");
    screen.type("\u0012");
    await screen.waitFor("new name: pears");
    screen.type(" and quinces\r");
    await screen.waitFor("❯ pears and quinces");
    screen.type("\r");
    await screen.waitFor("Capstan  pears and quinces");
    await screen.waitFor("❯ pears");
    screen.type("go on\r");
    await screen.waitFor("Second answer.");
    screen.type("/sessions\r");
    await screen.waitFor("Sessions of this folder (3)");
    screen.type("plums");
    await screen.waitFor("(1)");
    screen.type("\u0004");
    await screen.waitFor("y deletes");
    screen.type("y");
    await screen.waitFor("(0)");
    screen.type("\u0015");
    await screen.waitFor("(2)");
    screen.type("apples");
    await screen.waitFor("(1)");
    screen.type("\u0006");
    await screen.waitFor("This is a copy");
    screen.type("more\r");
    await screen.waitFor("Second answer.");
    screen.type("/sessions\r");
    await screen.waitFor("Sessions of this folder (3)");
  });

  it("CLI-05 opens a session of another folder with the agent of that folder", async () => {
    await using at = await terminalHome(pty);
    const args = await scripted(at, TALK);
    {
      await using screen = at.open([...args, "--cwd", "/"]);
      await screen.waitFor(READY);
      screen.type("elsewhere\r");
      await screen.waitFor(END);
      screen.type("/quit\r");
      await screen.exit;
    }
    await using screen = at.open(args);
    await screen.waitFor(READY);
    screen.type("/sessions\r");
    await screen.waitFor("(0)");
    screen.type("\t");
    await screen.waitFor("everywhere (1)");
    screen.type("\r");
    await screen.waitFor("First answer.");
    expect(screen.text).toMatch(/^helper {2}\/$/m);
  });

  it("CLI-03 shows tokens, cache, turns and tools of the session, and days", async () => {
    await using at = await terminalHome(pty);
    const usage = (more: object): string =>
      JSON.stringify({ inputTokens: 1_000, outputTokens: 200, cacheReadTokens: 3_000, costMicroUsd: 12_000, ...more });
    const turns = `[{ calls: [{ name: "read", input: { path: "a" } }, { name: "read", input: { path: "b" } }], usage: ${usage({})} }, { text: "Done.", usage: ${usage({ reasoningTokens: 50 })} }]`;
    await using screen = at.open(await scripted(at, turns), { columns: 100 });
    await screen.waitFor(READY);
    screen.type("/stats\r");
    await screen.waitFor("Statistics of the last 14 days");
    screen.type("\u001b");
    await screen.waitFor(READY);
    await screen.waitUntil((shown) => !shown.includes("14 days"), "the editor");
    screen.type("count\r");
    await screen.waitFor(END);
    screen.type("/stats\r");
    await screen.waitFor("Statistics of this session");
    await screen.waitFor(/tokens +8k in, 400 out \(50 of them reasoning\)/);
    expect(screen.text).toMatch(/cache +75% of the input was read from it/);
    expect(screen.text).toMatch(/cost +\$0\.0240/);
    expect(screen.text).toMatch(/runs +1 \(end-turn 1\)/);
    expect(screen.text).toMatch(/turns +2,/);
    expect(screen.text).toMatch(/read █+ 2,/);
    screen.type("\t");
    await screen.waitFor(/\d{4}-\d\d-\d\d █+ 1 session 8\.4k \$0\.0240/);
  });

  it("CLI-01 goes on with a run that a kill cut short, when its session is opened again", async () => {
    await using at = await terminalHome(pty);
    const args = await scripted(at, `[{ calls: [{ name: "slow", input: {} }] }, { text: "After the kill." }]`);
    {
      await using screen = at.open(args);
      await screen.waitFor(READY);
      screen.type("begin\r");
      await screen.waitFor("half way");
      process.kill(screen.pid, "SIGKILL");
      await screen.exit;
    }
    await writeFile(join(at.folder, "go"), "");
    await using again = at.open([...args, "--continue"]);
    await again.waitFor("After the kill.");
    expect(again.history).toContain("❯ begin");
  });

  it("CLI-01 two Ctrl-C leave with 130 while a run works; it goes on later", async () => {
    await using at = await terminalHome(pty);
    const args = await scripted(at, `[{ calls: [{ name: "slow", input: {} }] }, { text: "Later." }]`);
    {
      await using screen = at.open(args);
      await screen.waitFor(READY);
      screen.type("begin\r");
      await screen.waitFor("half way");
      screen.type("\u0003");
      await screen.waitFor("ctrl+c again leaves");
      screen.type("\u0003");
      expect(await screen.exit).toBe(130);
      expect(screen.text).toMatch(/not finished; go on with it: capstan terminal --session ses_\w+/);
    }
    await writeFile(join(at.folder, "go"), "");
    await using again = at.open([...args, "--continue"]);
    await again.waitFor("Later.");
  });
});

describe("typing in the terminal", { concurrent: true, timeout: 120_000 }, () => {
  it("CLI-01 completes commands and files, takes several lines, long pastes as a mark, and remembers", async () => {
    await using at = await terminalHome(pty);
    await at.put("notes.txt", "x");
    const echo = `(request) => ({ text: "Heard " + JSON.stringify(request.messages.at(-1).parts[0].text.length) })`;
    await using screen = at.open(await scripted(at, `[${echo}, ${echo}, ${echo}]`));
    await screen.waitFor(READY);
    screen.type("/sess");
    await screen.waitFor("/sessions");
    screen.type("\u0015");
    screen.type("see @note");
    await screen.waitFor("→ notes.txt");
    screen.type("\t");
    await screen.waitFor("see @notes.txt");
    screen.type("\u001b\r");
    screen.type("second line");
    await screen.waitFor(/see @notes\.txt\s+second line/);
    screen.type("\r");
    await screen.waitFor("Heard 27");
    screen.type(`\u001b[200~${"long line\n".repeat(30)}\u001b[201~`);
    await screen.waitFor("[paste #1 +31 lines]");
    screen.type("\r");
    await screen.waitFor("Heard 299");
    screen.type("\u001b[A");
    await screen.waitFor("long line");
    screen.type("\u0003");
    await screen.waitFor("ctrl+c again leaves");
  });

  it("CLI-01 shift+tab goes through the modes, and /mode sets one", async () => {
    await using at = await terminalHome(pty);
    const call = `{ calls: [{ name: "run", input: { command: "x" } }] }`;
    await using screen = at.open(await scripted(at, `[${call}, { text: "First." }, ${call}, { text: "Second." }]`));
    await screen.waitFor("scripted/model · ask");
    screen.type("\u001b[Z");
    await screen.waitFor("· accept-edits");
    screen.type("\u001b[Z");
    await screen.waitFor("· plan");
    screen.type("go\r");
    await screen.waitFor("First.");
    expect(screen.text).toMatch(/✗ run {2}denied/i);
    screen.type("/mode bypass\r");
    await screen.waitFor("· bypass");
    screen.type("go\r");
    await screen.waitFor("Second.");
    expect(screen.text).toContain("✓ Run x");
    screen.type("/nonsense\r");
    await screen.waitFor("There is no command /nonsense");
  });

  it("CLI-01 /model says what is wrong with a name, and uses another model from the next turn on", async () => {
    await using at = await terminalHome(pty);
    await using screen = at.open(await scripted(at, `[{ text: "Of the first." }]`), { columns: 100 });
    await screen.waitFor("? help");
    screen.type("/model nobody/nothing\r");
    await screen.waitFor('There is no model provider "nobody"');
    screen.type("/model demo\r");
    await screen.waitFor("demo · ask");
    screen.type("hello\r");
    await screen.waitFor("I look at what is here first.");
  });

  it("CLI-01 sends a pasted path of an image as an image", async () => {
    await using at = await terminalHome(pty);
    const path = join(at.folder, "dot.png");
    await writeFile(
      path,
      Buffer.from(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "base64",
      ),
    );
    const turns = `[(request) => ({ text: "Got " + request.messages.at(-1).parts.map((part) => part.mediaType ?? part.type).join(" and ") })]`;
    await using screen = at.open(await scripted(at, turns));
    await screen.waitFor(READY);
    screen.type(`\u001b[200~${path}\u001b[201~`);
    await screen.waitFor("[image #1]");
    screen.type("what is this?\r");
    await screen.waitFor(/Got text and (image\/png|text)/);
    expect(screen.history).toContain("+ dot.png");
  });
});

describe("the terminal elsewhere", { concurrent: true, timeout: 120_000 }, () => {
  it("CLI-01 shows the sessions of a server as its own: chats, asks, browses", async () => {
    await using at = await terminalHome(pty);
    const turns = `[{ calls: [{ name: "edit", input: { path: "a.txt" } }] }, { text: "Changed there." }]`;
    const [, ...config] = await scripted(at, turns);
    await using server = at.open(["serve", "--port", "0", ...config], { columns: 150 });
    await server.waitFor("as a bearer");
    const [url = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(server.text) ?? [];
    await using screen = at.open(["terminal", "--url", url], { columns: 100 });
    await screen.waitFor("what runs, runs there");
    screen.type("change it\r");
    await screen.waitFor("a letter or enter answers");
    expect(screen.text).toContain("May I? Edit a.txt");
    screen.type("y");
    await screen.waitFor("Changed there.");
    screen.type("/sessions\r");
    await screen.waitFor("Sessions everywhere (1)");
    screen.type("\u0003\u0003");
    expect(await screen.exit).toBe(130);
    await using wrong = at.open(["terminal", "--url", url], { env: { CAPSTAN_TOKEN: "not-the-right-token-at-all" } });
    expect(await wrong.exit).toBe(2);
    expect(wrong.text).toContain("refuses (401)");
  });

  it("CLI-01 SEC-06 asks about a folder's own instructions before the terminal opens", async () => {
    await using at = await terminalHome(pty);
    await at.put("AGENTS.md", "Always whistle.");
    await using screen = at.open([]);
    await screen.waitFor("Trust this folder?");
    screen.type("n\r");
    await screen.waitFor("? help");
    await screen.waitFor("Not used: AGENTS.md");
    screen.type("/sess");
    await screen.waitFor("/session");
    screen.type("\u0015/compact\r");
    await screen.waitFor(/\d turns? ·|sum/);
  });

  it("CLI-01 shows what a sub-agent does, and asks for it", async () => {
    await using at = await terminalHome(pty);
    const more = `const inner = agent({ name: "inner", description: "Does it.", model: scriptedModel([{ calls: [{ name: "run", input: { command: "inside" } }] }, { text: "Inner is done." }]), instructions: "Do.", tools: [run] });`;
    const turns = `[{ calls: [{ name: "inner", input: { task: "do it" } }] }, { text: "All of it is done." }]`;
    await using screen = at.open(await scripted(at, turns, { tools: "inner", more }), { columns: 100 });
    await screen.waitFor("? help");
    screen.type("begin\r");
    await screen.waitFor("inner: May I? Run inside");
    await screen.waitFor("a letter or enter answers");
    screen.type("y");
    await screen.waitFor("All of it is done.");
  });
});
