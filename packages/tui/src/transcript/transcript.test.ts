import type { Envelope, Event, Fact, Live, NewFact } from "@capstan/core";
import { Markdown, type MarkdownTheme, stripTerminalSequences } from "@earendil-works/pi-tui";
import { describe, expect, it } from "vitest";
import { conversationView } from "../conversation-view.ts";
import { TERMINAL_LIMITS } from "../limits.ts";
import { themeContext } from "../theme-context.ts";
import { widthOf } from "../view/text-width.ts";
import { diffLines } from "./diff-lines.ts";
import { highlight } from "./highlight.ts";
import { markdownLines } from "./markdown-lines.ts";
import { Transcript } from "./transcript.ts";

const context = themeContext({ depth: 1, isUnicode: true });

const same = (text: string): string => text;
const plainTheme = (): MarkdownTheme => ({
  heading: same,
  link: same,
  linkUrl: same,
  code: same,
  codeBlock: same,
  codeBlockBorder: same,
  quote: same,
  quoteBorder: same,
  hr: same,
  listBullet: same,
  bold: same,
  italic: same,
  strikethrough: same,
  underline: same,
});

let seq = 0;
const envelope = (event: object): Envelope => ({ sessionId: "ses_1", agent: "a", event: event as Event }); // made whole by the two below
const fact = (body: Omit<NewFact, "key">): Envelope =>
  envelope({ ...body, key: `k${seq}`, seq: ++seq, at: seq * 1_000 } as Fact);
const live = (body: object): Envelope => envelope({ ...body, seq, eph: 1, at: 1 } as Live);
const message = (role: "user" | "assistant", ...parts: readonly object[]): Envelope =>
  fact({ type: "message.added", message: { id: `m${seq}`, role, parts } } as never);

describe("Transcript", () => {
  it("CLI-01 replaces what was written live by what is committed, and drops what was void", () => {
    const transcript = new Transcript();
    transcript.apply(live({ type: "block.started", messageId: "m", blockId: "b", block: { type: "text" } }));
    transcript.apply(live({ type: "text.delta", blockId: "b", offset: 0, delta: "Hel" }));
    transcript.apply(live({ type: "text.delta", blockId: "b", offset: 3, delta: "lo" }));
    transcript.apply(live({ type: "text.delta", blockId: "b", offset: 3, delta: "lo" })); // twice is once
    expect(transcript.items).toEqual([{ type: "text", id: "b", text: "Hello", live: true }]);
    transcript.apply(
      live({
        type: "turn.reset",
        turn: 1,
        attempt: 1,
        error: { code: "model-network", message: "Gone.", retryable: true },
        delayMs: 1_500,
      }),
    );
    expect(transcript.items).toMatchObject([
      { type: "note", severity: "warning", text: "Gone (model-network); trying again in 1.5 s" },
    ]);
    transcript.apply(message("assistant", { type: "text", text: "Hello there" }));
    expect(transcript.items.at(-1)).toMatchObject({ type: "text", text: "Hello there", live: false });
  });

  it("CLI-01 stays bounded in a session without an end, and so do the lines on the screen", () => {
    const transcript = new Transcript();
    const view = conversationView(context);
    for (let at = 0; at < 5_000; at++) {
      transcript.apply(message("user", { type: "text", text: `Question ${at}` }));
      transcript.apply(message("assistant", { type: "text", text: `Answer ${at}\n`.repeat(20) }));
      if (at % 500 === 0)
        expect(view.lines(transcript, { width: 80, unfolded: false }).length).toBeLessThanOrEqual(
          TERMINAL_LIMITS.lines + 1,
        );
    }
    expect(transcript.items.length).toBeLessThanOrEqual(TERMINAL_LIMITS.items);
    const lines = view.lines(transcript, { width: 80, unfolded: false });
    expect(lines.length).toBeLessThanOrEqual(TERMINAL_LIMITS.lines + 1);
    expect(lines[0]).toContain("what came before is not shown");
    expect(lines.join("\n")).toContain("Answer 4999");
  });

  it("CLI-01 cuts the output of a tool, and what it writes while it runs", () => {
    const transcript = new Transcript();
    transcript.apply(message("assistant", { type: "tool-call", callId: "c", name: "run", input: {}, by: "capstan" }));
    for (let at = 0; at < 100; at++)
      transcript.apply(live({ type: "tool.progress", callId: "c", stream: "stdout", chunk: "x".repeat(1_000) }));
    expect((transcript.items[0] as { readonly progress: string }).progress).toHaveLength(
      TERMINAL_LIMITS.progressCharacters,
    );
    transcript.apply(
      fact({
        type: "tool.finished",
        callId: "c",
        name: "run",
        status: "ok",
        output: { content: [{ type: "text", text: "y".repeat(500_000) }] },
        durationMs: 1,
      } as never),
    );
    expect((transcript.items[0] as { readonly output: string }).output.length).toBeLessThan(
      TERMINAL_LIMITS.outputCharacters + 100,
    );
  });
});

describe("conversationView", () => {
  it.each([10, 11, 23, 40, 80, 200])("CLI-01 no line is wider than %i columns, whatever is in it", (width) => {
    const transcript = new Transcript();
    const odd =
      "漢字かな👩‍👩‍👧‍👦 e\u0301 \t tab | a | b |\n|---|---|\n| 漢 | 👍👍👍 |\n\n- [link](http://example.com/" +
      "x".repeat(90) +
      ")\n\n```ts\nconst x = '漢字';\n```\n> quote\n\n# Head\n\n1. a\n   - b\n     - c";
    transcript.apply(message("user", { type: "text", text: odd }));
    transcript.apply(
      message(
        "assistant",
        { type: "reasoning", text: odd },
        { type: "text", text: odd },
        { type: "tool-call", callId: `c${width}`, name: odd, input: { a: odd }, by: "capstan" },
      ),
    );
    transcript.apply(
      fact({
        type: "tool.finished",
        callId: `c${width}`,
        name: "n",
        status: "error",
        output: {
          content: [
            { type: "text", text: odd },
            { type: "diff", path: odd, before: "a", after: odd },
          ],
        },
        durationMs: 5_000,
      } as never),
    );
    for (const unfolded of [false, true])
      for (const line of conversationView(context).lines(transcript, { width, unfolded }))
        expect(widthOf(line)).toBeLessThanOrEqual(width);
  });
});

describe("markdownLines", () => {
  it("CLI-01 G20 sends no control character of a text on, and shows where links lead", () => {
    const draw = markdownLines(context);
    const lines = draw(
      "\u001b[31mred\u001b[0m \u202e \u009b2J [here](http://evil.example/\u0007x) `\u001b]0;t\u0007`\n\n```sh\n\u001b[2J\n```",
      80,
    ).join("\n");
    const active = Array.from(stripTerminalSequences(lines)).filter(
      (one) => one !== "\n" && /[\p{Cc}\u202e]/u.test(one),
    );
    expect(active).toEqual([]);
    expect(lines).not.toContain("\u001b[31m");
    expect(lines).not.toContain("\u001b]");
    expect(lines).toContain("http://evil.example/");
  });

  it("CLI-01 draws text piece by piece as it would as a whole", () => {
    const text =
      "First paragraph.\n\nSecond *one*.\n\n```js\na\n\nb\n```\n\nThird.\n\n- x\n\n- y\n\n  more\n\nLast.\n\n> q\n\n1. a\n2. b";
    const plain = (line: string): string => stripTerminalSequences(line).trimEnd();
    const unstyled = new Markdown(text, 0, 0, plainTheme(), undefined, {}).render(40).map(plain);
    expect(markdownLines(context)(text, 40).map(plain)).toEqual(unstyled);
  });
});

describe("highlight", () => {
  it("CLI-01 marks words by what they are, and leaves the text as it is", () => {
    const code = 'const a = "x"; // note\nreturn 42;';
    const marked = highlight(code, "ts", (role, text) => `<${role}>${text}</>`);
    expect(marked).toEqual([
      '<keyword>const</> a = <string>"x"</>; <comment>// note</>',
      "<keyword>return</> <number>42</>;",
    ]);
    expect(highlight(code, "ts", (_role, text) => text).join("\n")).toBe(code);
    expect(highlight("# hi\nx", "constructor", (role, text) => `${role}:${text}`)).toEqual(["code:# hi", "code:x"]);
  });
});

describe("diffLines", () => {
  it("CLI-01 shows what changed with its numbers and a little around it", () => {
    const before = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`);
    const after = before.with(4, "changed").toSpliced(15, 1);
    expect(diffLines(before.join("\n"), after.join("\n")).map(({ type, number }) => `${type[0]}${number}`)).toEqual([
      "s3",
      "s4",
      "r5",
      "a5",
      "s6",
      "s7",
      "g8",
      "s14",
      "s15",
      "r16",
      "s16",
      "s17",
    ]);
    expect(diffLines(undefined, "a\nb").map(({ type }) => type)).toEqual(["added", "added"]);
    expect(diffLines("a", "a")).toEqual([]);
  });
});
