import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { describe, expect, it } from "vitest";
import { ptyScreen } from "./pty-screen.ts";
import { COMMAND, scripted, terminalHome } from "./terminal-home.ts";

const pty = { spawn, Terminal: xterm.Terminal };
const READY = "? help";
const END = /\d turns? ·/;
const TALK = `[{ text: "A **word** and \`code\`." }, { text: "Second answer." }]`;
/** Colours, not bold and the like: 3x, 4x, 9x, 10x, 38;..., 48;... */
const COLOUR = /^(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[\d;]*)?m/;
const coloursIn = (raw: string): readonly string[] => raw.split("\u001b[").filter((sequence) => COLOUR.test(sequence));

describe("how the terminal looks", { concurrent: true, timeout: 120_000 }, () => {
  it("CLI-02 switches the theme at once, also of what stands there already, and keeps it for the next start", async () => {
    await using at = await terminalHome(pty);
    const args = await scripted(at, TALK);
    {
      await using screen = at.open(args);
      await screen.waitFor(READY);
      screen.type("talk\r");
      await screen.waitFor(END);
      const before = screen.styleOf("Capstan").color;
      screen.type("/theme light\r");
      await screen.waitUntil(() => screen.styleOf("Capstan").color !== before, "another colour");
      screen.type("/quit\r");
      expect(await screen.exit).toBe(0);
    }
    expect(JSON.parse(await readFile(join(at.home, "terminal.json"), "utf8"))).toEqual({ theme: "light" });
    await using again = at.open(args);
    await again.waitFor(READY);
    expect(again.styleOf("Capstan").color).toBe(0x005faf);
  });

  it("CLI-02 chooses from a list, with themes of JSON files in it", async () => {
    await using at = await terminalHome(pty);
    await mkdir(join(at.home, "themes"), { recursive: true });
    const theme = { name: "mine", extends: "light", styles: { heading: { color: "#123456", underline: true } } };
    await writeFile(join(at.home, "themes", "mine.json"), JSON.stringify(theme));
    await using screen = at.open(await scripted(at, TALK));
    await screen.waitFor(READY);
    screen.type("/theme\r");
    await screen.waitFor("enter takes it");
    expect(screen.text).toMatch(/dark[^]*light[^]*high-contrast[^]*none[^]*mine/);
    screen.type("5");
    await screen.waitUntil(() => screen.styleOf("Capstan").color === 0x123456, "the colour of the file");
  });

  it("CLI-02 says what is wrong with a theme file, and with an unknown theme", async () => {
    await using at = await terminalHome(pty);
    await mkdir(join(at.home, "themes"), { recursive: true });
    await using unknown = at.open(["terminal", "--theme", "pink"]);
    expect(await unknown.exit).toBe(2);
    expect(unknown.text).toContain('There is no theme "pink"');
    await writeFile(
      join(at.home, "themes", "bad.json"),
      JSON.stringify({ name: "bad", styles: { heading: "red-ish" } }),
    );
    await using bad = at.open(["terminal"]);
    expect(await bad.exit).not.toBe(0);
    expect(bad.text).toContain("is no colour");
    expect(bad.text).toContain("(config-invalid)");
  });

  it("CLI-02 shows no colour under NO_COLOR", async () => {
    await using at = await terminalHome(pty, { NO_COLOR: "1" });
    await using screen = at.open(await scripted(at, TALK));
    await screen.waitFor(READY);
    screen.type("talk\r");
    await screen.waitFor(END);
    screen.type("/theme high-contrast\r");
    screen.type("/stats\r");
    await screen.waitFor("tokens");
    expect(coloursIn(screen.raw)).toEqual([]);
  });

  it("CLI-01 draws in ASCII where the locale is not UTF-8", async () => {
    await using at = await terminalHome(pty, { LANG: "C" });
    await using screen = at.open(await scripted(at, `[{ text: "Grüße: 漢字 | a |" }]`));
    await screen.waitFor(READY);
    screen.type("talk\r");
    await screen.waitFor(END.source.includes("·") ? /\d turn / : END);
    expect(screen.raw).toMatch(/^[\0-\u007f]*$/);
    expect(screen.text).toContain("> talk");
    expect(screen.text).toContain("Gr??e: ????");
  });

  it.each([
    [20, 10],
    [40, 15],
    [200, 60],
  ])("CLI-01 fits into %i columns and %i rows, and follows a change of size", async (columns, rows) => {
    await using at = await terminalHome(pty);
    const text =
      "# A heading that is quite long\\n\\n| name | value |\\n|---|---|\\n| alpha | the first letter |\\n\\n" +
      "word ".repeat(80);
    const turns = `[{ text: ${JSON.stringify(text).replaceAll("\\\\n", "\\n")}, calls: [{ name: "edit", input: { path: "a/very/long/path/to/some/file.ts" } }] }, { text: "Fin." }]`;
    await using screen = at.open(await scripted(at, turns), { columns, rows });
    await screen.waitFor("?");
    screen.type("go\r");
    await screen.waitFor("May I?");
    await screen.waitFor("a letter or enter");
    screen.resize(Math.max(10, columns - 7), rows - 2);
    screen.resize(columns + 5, rows + 3);
    await screen.waitFor("a letter or enter");
    screen.type("y");
    await screen.waitFor("Fin.");
    expect(Math.max(...screen.lines.map((line) => line.length))).toBeLessThanOrEqual(columns + 5);
    screen.type("/quit\r");
    expect(await screen.exit).toBe(0);
  });

  it("CLI-01 puts the terminal back as it was: after an error that nobody foresaw, and when told to end", async () => {
    await using at = await terminalHome(pty);
    const more = `const boom = tool({ name: "boom", description: "Booms.", permission: "allow", input, execute: () => { setTimeout(() => { throw new Error("boom in the night"); }, 0); return "soon"; } });`;
    await using screen = at.open(
      await scripted(at, `[{ calls: [{ name: "boom", input: {} }] }]`, { tools: "boom", more }),
    );
    await screen.waitFor(READY);
    screen.type("go\r");
    expect(await screen.exit).toBe(1);
    expect(screen.text).toMatch(/^capstan: boom in the night/m);
    expect(restored(screen.raw)).toBe(true);
    await using told = at.open(["terminal"]);
    await told.waitFor(READY);
    process.kill(told.pid, "SIGTERM");
    expect(await told.exit).toBe(143);
    expect(restored(told.raw)).toBe(true);
  });

  it("CLI-01 ctrl+z suspends it, fg brings it back", async () => {
    await using at = await terminalHome(pty);
    const args = await scripted(at, TALK);
    const shell = ["bash", "--noprofile", "--norc", "-i"];
    await using screen = ptyScreen(pty, shell, { cwd: at.folder, env: { ...at.env, PS1: "shell> " } });
    await screen.waitFor("shell>");
    screen.type(`${[...COMMAND, ...args].map((word) => `'${word}'`).join(" ")}\r`);
    await screen.waitFor(READY);
    screen.type("talk\r");
    await screen.waitFor(END);
    screen.type("\u001a");
    await screen.waitFor(/Stopped[^]*shell>/);
    screen.type("echo in the $((40+2)) shell\r");
    await screen.waitFor("in the 42 shell");
    screen.type("fg\r");
    await screen.waitUntil(
      (shown) =>
        shown.trimEnd().endsWith("scripted/model · ask · context 0% of 200k") ||
        /\? help .*ask[^\n]*$/.test(shown.trimEnd()),
      "the terminal again",
    );
    screen.type("more\r");
    await screen.waitFor("Second answer.");
    screen.type("\u0004");
    await screen.waitFor(/--session ses_\w+\s+shell>/);
  });
});

/** Pastes are plain again, the cursor is seen. */
function restored(raw: string): boolean {
  return (
    raw.lastIndexOf("\u001b[?2004l") > raw.lastIndexOf("\u001b[?2004h") &&
    raw.lastIndexOf("\u001b[?25h") > raw.lastIndexOf("\u001b[?25l")
  );
}
