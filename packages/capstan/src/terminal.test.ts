import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type AnthropicReply, anthropicServer } from "@capstan/models/testing";
import { type ChildEnd, COMMAND, type CommandHome, commandHome, runChild } from "./command-child.ts";

/** Runs a program on a pseudo-terminal: waits for each text in turn, then types, at once where there is none; prints all that was shown. */
const DRIVER = `
import json, os, pty, select, sys, time
steps, argv = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(argv[0], argv)
shown, seen, end = b"", 0, time.time() + 100
while steps and steps[0][0] == "":
    os.write(fd, steps.pop(0)[1].encode())
while time.time() < end:
    ready, _, _ = select.select([fd], [], [], 0.2)
    if ready:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    while steps:
        at = shown.find(steps[0][0].encode(), seen)
        if at < 0:
            break
        seen = at + len(steps[0][0].encode())
        time.sleep(0.2)
        os.write(fd, steps[0][1].encode())
        steps.pop(0)
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(status))
`;
const hasPython = spawnSync("python3", ["-c", "import pty, os; os.waitstatus_to_exitcode"]).status === 0;

const text = (value: string): AnthropicReply => ({ content: [{ type: "text", text: value }] });
const shell = (command: string): AnthropicReply => ({
  content: [{ type: "tool_use", id: "tu_s", name: "shell", input: { command } }],
});
const ASKED = "no (n, or n and why)";

type Step = readonly [waitFor: string, type: string];

type Files = { readonly [name: string]: string };

/** `next`: what comes after it in the same place, without a terminal. */
async function session(
  replies: readonly AnthropicReply[],
  steps: readonly Step[],
  args: readonly string[] = [],
  { files = {}, next }: { readonly files?: Files; readonly next?: (at: CommandHome) => Promise<ChildEnd> } = {},
): Promise<
  ChildEnd & {
    readonly file: () => Promise<string>;
    readonly requests: readonly string[];
    readonly after: ChildEnd | undefined;
  }
> {
  await using server = await anthropicServer(replies);
  await using at = await commandHome({
    ANTHROPIC_API_KEY: "sk-test-0123456789",
    ANTHROPIC_BASE_URL: server.url,
    TERM: "dumb",
    NO_COLOR: "1",
  });
  for (const [name, content] of Object.entries({ "a.txt": "one\n", ...files })) {
    await writeFile(join(at.folder, name), content);
  }
  const end = await runChild(["python3", "-c", DRIVER, JSON.stringify(steps), ...COMMAND, "run", "do it", ...args], {
    env: at.env,
    cwd: at.folder,
  });
  const after = await next?.(at);
  const file = await readFile(join(at.folder, "a.txt"), "utf8");
  expect(server.violations).toEqual([]);
  return {
    ...end,
    stdout: end.stdout.replaceAll("\r\n", "\n"),
    after,
    file: async () => file,
    requests: server.requests.map((request) => request.text),
  };
}

describe.skipIf(!hasPython)("capstan run at a terminal", { concurrent: true, timeout: 120_000 }, () => {
  it("PERM-07 shows exactly what would run and runs it after yes", async () => {
    const end = await session([shell("echo two > a.txt"), text("Written.")], [[ASKED, "y\n"]]);
    expect(end.code).toBe(0);
    expect(end.stdout).toContain("May I? Run echo two > a.txt\n");
    expect(end.stdout).toContain("│ echo two > a.txt\n");
    expect(end.stdout).toMatch(/why +│ No rule allows/);
    expect(await end.file()).toBe("two\n");
  });

  it("PERM-07 does nothing after no, and tells the model why", async () => {
    const end = await session(
      [shell("echo two > a.txt"), text("As you wish.")],
      [
        [ASKED, "what\n"],
        [ASKED, "n use the edit tool\n"],
      ],
    );
    expect(end.code).toBe(0);
    expect(end.stdout).toContain("Please answer");
    expect(end.requests[1]).toContain("use the edit tool");
    expect(await end.file()).toBe("one\n");
  });

  it("PERM-03 always counts for the rest of the session", async () => {
    const replies = [shell("touch a.txt"), shell("touch a.txt"), text("Twice.")];
    const end = await session(replies, [["always in this session (a)", "a\n"]]);
    expect(end.code).toBe(0);
    expect(end.stdout.split("May I?")).toHaveLength(2);
  });

  it.each(["agent", "all"])("PERM-01 PERM-03 always for %s holds in later sessions too", async (word) => {
    const touch = shell("touch a.txt");
    const end = await session(
      [touch, text("Once."), touch, text("Twice.")],
      [["for all agents (all)", `${word}\n`]],
      [],
      { next: (at) => at.run(["run", "again"]) },
    );
    expect(end.code).toBe(0);
    expect(end.after).toMatchObject({ code: 0, stdout: "Twice.\n" });
  });

  it("TOOL-31 lets the model ask the person, and gives it the answer", async () => {
    const option = (label: string): object => ({ label, description: "" });
    const questions = [{ header: "Colour", question: "Which colour?", options: [option("red"), option("blue")] }];
    const ask: AnthropicReply = { content: [{ type: "tool_use", id: "tu_q", name: "ask_user", input: { questions } }] };
    const end = await session([ask, text("Blue it is.")], [["or your own words >", "2\n"]]);
    expect(end.code).toBe(0);
    expect(end.stdout).toContain("Which colour?\n  1  red\n  2  blue\n");
    expect(end.requests[1]).toContain("- blue");
  });

  it.each([
    ["y\n", true],
    ["n\n", false],
  ])("SEC-06 SKILL-10 asks before it uses what a folder says: %j", async (typed, isUsed) => {
    const files = { "AGENTS.md": "Always whistle." };
    const end = await session([text("Hello.")], [["Trust this folder?", typed]], [], { files });
    expect(end.code).toBe(0);
    expect(end.stdout).toContain("\n  AGENTS.md\n");
    expect(end.requests[0]?.includes("Always whistle.")).toBe(isUsed);
    expect(end.stdout.includes("Not used: AGENTS.md")).toBe(!isUsed);
  });

  it("PERM-14 takes nothing that was typed before the question as its answer", async () => {
    const slow: AnthropicReply = { ...shell("echo two > a.txt"), delivery: { chunkBytes: 1 } };
    const end = await session(
      [slow, text("No.")],
      [
        ["", "y\ny\n"],
        [ASKED, "n\n"],
      ],
    );
    expect(end.code).toBe(0);
    expect(await end.file()).toBe("one\n");
  });

  it("G20 shows control characters of the model instead of sending them to the terminal", async () => {
    const evil = "echo \u001b[2Jharmless\u202e\r\necho \u0007two > a.txt";
    const call = { type: "tool_use", id: "tu_s", name: "shell", input: { command: evil } } as const;
    const both: AnthropicReply = { content: [{ type: "text", text: "See \u001b]0;title\u0007 \u009b31m" }, call] };
    const end = await session([both, text("Done.")], [[ASKED, "n\n"]]);
    for (const active of ["\u0007", "\u001b", "\u009b", "\u202e"]) expect(end.stdout).not.toContain(active);
    expect(end.stdout).toContain("│ echo \\u{1b}[2Jharmless\\u{202e}\n");
    expect(end.stdout).toContain("See \\u{1b}]0;title\\u{7}");
  });

  it("LOOP-09 Ctrl-C at the question interrupts the run, and nothing runs", async () => {
    const end = await session([shell("echo two > a.txt"), text("never")], [[ASKED, "\u0003"]]);
    expect(end.code).toBe(130);
    expect(end.stdout).toContain("(interrupted)");
    expect(end.requests).toHaveLength(1);
    expect(await end.file()).toBe("one\n");
  });

  it("PERM-08 leaves the question open when the person has gone, and resume asks it again", async () => {
    const end = await session([shell("echo two > a.txt"), text("Written.")], [[ASKED, "\u0004"]]);
    expect(end.code).toBe(5);
    expect(end.stdout).toMatch(/capstan resume ses_\w+/);
    expect(await end.file()).toBe("one\n");
  });

  it("LOOP-08 Ctrl-C twice leaves at once", async () => {
    const steps: readonly Step[] = [
      ["… Run trap", "\u0003"],
      ["interrupting", "\u0003"],
    ];
    const end = await session([shell("trap '' TERM INT; sleep 3 & wait; sleep 3"), text("never")], steps, [
      "--allow",
      "shell",
    ]);
    expect(end.code).toBe(130);
    expect(end.stdout).toMatch(/left the run; "capstan resume ses_\w+" goes on with it/);
  });
});
