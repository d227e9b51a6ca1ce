/** The characters of the terminal's own drawing, and what stands for them where the locale is not UTF-8. */

export type Glyphs = {
  readonly user: string;
  readonly ok: string;
  readonly failed: string;
  readonly running: readonly string[];
  readonly waiting: string;
  readonly bullet: string;
  readonly bar: string;
  readonly rule: string;
  readonly pointer: string;
  readonly open: string;
  readonly done: string;
  readonly chosen: string;
  readonly blocks: readonly string[];
  readonly dot: string;
};

const UNICODE: Glyphs = {
  user: "❯",
  ok: "✓",
  failed: "✗",
  running: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
  waiting: "…",
  bullet: "•",
  bar: "│",
  rule: "─",
  pointer: "❯",
  open: "○",
  done: "●",
  chosen: "◉",
  blocks: ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
  dot: "·",
};
const ASCII: Glyphs = {
  user: ">",
  ok: "+",
  failed: "x",
  running: ["|", "/", "-", "\\"],
  waiting: ".",
  bullet: "*",
  bar: "|",
  rule: "-",
  pointer: ">",
  open: "o",
  done: "@",
  chosen: "*",
  blocks: ["#"],
  dot: "-",
};
/** What libraries draw with, in ASCII. */
const STAND_INS: { readonly [character: string]: string } = {
  "─": "-",
  "━": "-",
  "│": "|",
  "┃": "|",
  "┌": "+",
  "┐": "+",
  "└": "+",
  "┘": "+",
  "├": "+",
  "┤": "+",
  "┬": "+",
  "┴": "+",
  "┼": "+",
  "…": ".",
  "•": "*",
  "→": ">",
  "↑": "^",
  "↓": "v",
};

export function glyphsOf(isUnicode: boolean): Glyphs {
  return isUnicode ? UNICODE : ASCII;
}

/** Whether a locale's variables name UTF-8. An unset locale says nothing about the terminal, which is then taken to be modern. */
export function isUnicodeLocale(env: { readonly [name: string]: string | undefined }): boolean {
  const named = [env["LC_ALL"], env["LC_CTYPE"], env["LANG"]].find((value) => value !== undefined && value !== "");
  return named === undefined || /utf-?8/i.test(named);
}

/** The line in ASCII, of the same width as `widthOf` gives each character. */
export function toAscii(line: string, widthOf: (text: string) => number): string {
  return line.replace(/[^\0-\x7f]/gu, (character) => STAND_INS[character] ?? "?".repeat(widthOf(character)));
}
