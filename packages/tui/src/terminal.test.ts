import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { describe, expect, it } from "vitest";
import { scripted, terminalHome } from "./terminal-home.ts";

const pty = { spawn, Terminal: xterm.Terminal };
const READY = "? help";
const ASKED = "a letter or enter answers";
const END = /\d turns? ·/;

describe("the terminal", { concurrent: true, timeout: 120_000 }, () => {
  it("CLI-01 chats: markdown, reasoning and a tool card, and says what a run took", async () => {
    await using at = await terminalHome(pty);
    const text = "# Head\\n\\nSome **bold** words:\\n\\n- one\\n- two\\n\\n```ts\\nconst answer = 42;\\n```";
    const turns = `[{ reasoning: "Let me look.", text: "${text}", calls: [{ name: "read", input: { path: "a.txt" } }], deltas: 30 }, { text: "All done." }]`;
    await using screen = at.open(await scripted(at, turns));
    await screen.waitFor(READY);
    screen.type("please look\r");
    await screen.waitFor("All done.");
    await screen.waitFor(END);
    expect(screen.history).toContain("❯ please look");
    expect(screen.history).toMatch(/│ thought: Let me look\./);
    expect(screen.history).toContain("Head");
    expect(screen.history).not.toContain("**bold**");
    expect(screen.history).toMatch(/✓ Read a\.txt {2}read\n {2}│ 3 lines/);
    expect(screen.styleOf("const").isDefault).toBe(false);
    screen.type("/quit\r");
    expect(await screen.exit).toBe(0);
    expect(screen.text).toMatch(/capstan terminal --session ses_\w+/);
  });

  it("CLI-01 PERM-07 asks with all that would happen, and goes on after yes; diffs are coloured", async () => {
    await using at = await terminalHome(pty);
    const turns = `[{ calls: [{ name: "edit", input: { path: "a.txt" } }] }, { text: "Changed." }]`;
    await using screen = at.open(await scripted(at, turns));
    await screen.waitFor(READY);
    screen.type("change it\r");
    await screen.waitFor(ASKED);
    expect(screen.text).toContain("May I? Edit a.txt");
    expect(screen.text).toMatch(/path +│ a\.txt/);
    screen.type("y");
    await screen.waitFor("Changed.");
    expect(screen.text).toContain("a.txt +1 -1");
    expect(screen.styleOf("3 - c").color).not.toBe(screen.styleOf("3 + X").color);
    screen.type("\u0003\u0003");
    expect(await screen.exit).toBe(130);
  });

  it("CLI-01 PERM-03 always counts for the session, no with a reason tells the model, edit changes the input", async () => {
    await using at = await terminalHome(pty);
    const call = (command: string): string => `{ calls: [{ name: "run", input: { command: "${command}" } }] }`;
    const turns = `[${call("first")}, ${call("second")}, { text: "Between." }, { calls: [{ name: "edit", input: { path: "x" } }] }, (request) => ({ text: JSON.stringify(request.messages.at(-1).parts).includes("too early") ? "Heard." : "Deaf." }), { calls: [{ name: "edit", input: { path: "wrong" } }] }, { text: "End." }]`;
    await using screen = at.open(await scripted(at, turns));
    await screen.waitFor(READY);
    screen.type("go\r");
    await screen.waitFor(ASKED);
    screen.type("a");
    await screen.waitFor("Between.");
    expect(screen.history).toMatch(/✓ Run first[^]*✓ Run second/);
    screen.type("again\r");
    await screen.waitFor(ASKED);
    screen.type("r");
    await screen.waitFor("Why not?");
    screen.type("too early\r");
    await screen.waitFor("Heard.");
    expect(screen.history).toMatch(/✗ Edit x {2}denied/);
    screen.type("once more\r");
    await screen.waitFor("Edit wrong");
    await screen.waitFor(ASKED);
    screen.type("e");
    await screen.waitFor("path:");
    screen.type("\u0015right.txt\r");
    await screen.waitFor("End.");
    expect(screen.history).toContain("✓ Edit right.txt");
  });

  it("CLI-01 takes nothing that was being typed as an answer: it stays in the editor", async () => {
    await using at = await terminalHome(pty);
    const turns = `[{ text: "One moment.", hold: until("go"), calls: [{ name: "edit", input: { path: "a.txt" } }] }, { text: "Never." }]`;
    await using screen = at.open(await scripted(at, turns));
    await screen.waitFor(READY);
    screen.type("change it\r");
    await screen.waitFor("One mo");
    await writeFile(join(at.folder, "go"), "");
    await screen.waitFor("May I?");
    screen.type("yny");
    await screen.waitFor(/^ yny/m);
    await screen.waitFor(ASKED);
    expect(screen.text).toContain("May I? Edit a.txt");
    screen.type("\u001b");
    await screen.waitFor("interrupted");
    expect(screen.text).toMatch(/^ yny/m);
    expect(screen.history).not.toContain("Never.");
  });

  it("CLI-01 TOOL-31 asks questions of the model: one choice, several, and words of one's own", async () => {
    await using at = await terminalHome(pty);
    const more = `const quiz = flow("quiz", async (_input, context) => JSON.stringify((await context.question("q", [
      { header: "Colour", question: "Which colour?", multiSelect: false, options: [{ label: "red", description: "warm" }, { label: "blue", description: "cold" }] },
      { header: "Days", question: "Which days?", multiSelect: true, options: [{ label: "Mon", description: "" }, { label: "Tue", description: "" }] },
      { header: "Why", question: "Why so?", multiSelect: false, options: [{ label: "a", description: "" }, { label: "b", description: "" }] },
    ])).answers));`;
    const turns = `[{ calls: [{ name: "quiz", input: {} }] }, (request) => ({ text: "Heard " + request.messages.at(-1).parts[0].output.content[0].text })]`;
    await using screen = at.open(await scripted(at, turns, { tools: "quiz", more }), { columns: 100 });
    await screen.waitFor(READY);
    screen.type("ask me\r");
    await screen.waitFor("a number or enter answers");
    screen.type("2");
    await screen.waitFor("Which days?");
    screen.type("1");
    screen.type("2");
    await screen.waitFor(/◉ Mon[^]*◉ Tue/);
    screen.type("\r");
    await screen.waitFor("Why so?");
    screen.type("o");
    await screen.waitFor("enter answers, esc goes back");
    screen.type("just because\r");
    await screen.waitFor(`Heard {"Colour":"blue","Days":["Mon","Tue"],"Why":"just because"}`);
  });

  it("CLI-01 LOOP-14 steers while a run works, shows what waits and takes it back", async () => {
    await using at = await terminalHome(pty);
    const turns = `[{ calls: [{ name: "slow", input: {} }] }, (request) => ({ text: "Heard " + request.messages.at(-1).parts[0].text })]`;
    await using screen = at.open(await scripted(at, turns));
    await screen.waitFor(READY);
    screen.type("begin\r");
    await screen.waitFor("half way");
    screen.type("use blue\r");
    await screen.waitFor("next turn: use blue");
    screen.type("not this\r");
    await screen.waitFor("next turn: not this");
    screen.type("\u001b[1;3A");
    await screen.waitUntil(
      (shown) => !shown.includes("next turn: not this") && /^ not this/m.test(shown),
      "the input taken back",
    );
    await writeFile(join(at.folder, "go"), "");
    await screen.waitFor("Heard use blue");
    expect(screen.history).toContain("❯ use blue");
    expect(screen.history).not.toContain("❯ not this");
  });

  it("CLI-01 LOOP-08 esc interrupts the run, and the session goes on", async () => {
    await using at = await terminalHome(pty);
    const turns = `[{ text: "Thinking it over", hold: until("go") }, { text: "Back again." }]`;
    await using screen = at.open(await scripted(at, turns));
    await screen.waitFor(READY);
    screen.type("begin\r");
    await screen.waitFor("esc interrupts");
    screen.type("\u001b");
    await screen.waitFor("interrupted");
    screen.type("go on\r");
    await screen.waitFor("Back again.");
  });

  it("CLI-01 two terminals on one session show the same, and the second can answer", async () => {
    await using at = await terminalHome(pty);
    const turns = `[{ text: "I ask first.", calls: [{ name: "edit", input: { path: "a.txt" } }] }, { text: "Agreed." }]`;
    const args = await scripted(at, turns);
    await using first = at.open(args);
    await first.waitFor(READY);
    first.type("change it\r");
    await first.waitFor(ASKED);
    await using second = at.open([...args, "--continue"]);
    await second.waitFor(ASKED);
    expect(second.text).toContain("May I? Edit a.txt");
    expect(second.history).toContain("I ask first.");
    second.type("y");
    await Promise.all([first.waitFor("Agreed."), second.waitFor("Agreed.")]);
  });

  it("CLI-01 G20 control characters of the model never reach the terminal", async () => {
    await using at = await terminalHome(pty);
    const evil = String.raw`\u001b]0;owned\u0007 \u001b[2J \u009b31m \u202eabc &#27;[31m`;
    const turns = `[{ reasoning: "r ${evil}", text: "t ${evil}", calls: [{ name: "edit", input: { path: "p ${evil}" } }] }, { text: "End." }]`;
    await using screen = at.open(await scripted(at, turns));
    await screen.waitFor(READY);
    screen.type("go\r");
    await screen.waitFor(ASKED);
    screen.type("y");
    await screen.waitFor("End.");
    for (const active of ["\u001b]0;owned", "\u009b", "\u202e", "\u0007 "]) expect(screen.raw).not.toContain(active);
    expect(screen.history).toContain(String.raw`t \u{1b}]0;owned\u{7} \u{1b}[2J \u{9b}31m \u{202e}abc`);
  });

  it("CLI-01 works without any key, and without a command", async () => {
    await using at = await terminalHome(pty);
    await using screen = at.open([]);
    await screen.waitFor("the scripted demo model answers");
    screen.type("hello\r");
    await screen.waitFor("I am Capstan's demo model");
    screen.type("\u0004");
    expect(await screen.exit).toBe(0);
  });
});
