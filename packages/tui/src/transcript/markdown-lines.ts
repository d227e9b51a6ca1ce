/** Markdown as lines. One of the few files that know the library below; text is made inert before it gets there. */

import { Markdown, type MarkdownTheme, setCapabilityOverrides } from "@earendil-works/pi-tui";
import { inert } from "../inert.ts";
import type { ThemeContext } from "../theme-context.ts";
import type { Role } from "../themes.ts";
import { highlight } from "./highlight.ts";

const MAX_KEPT = 400;

export type MarkdownLines = (text: string, width: number) => readonly string[];

/** Keeps the lines of the newest pieces. Text that grows is drawn anew only from its last paragraph on. */
export function markdownLines(context: ThemeContext): MarkdownLines {
  setCapabilityOverrides({ hyperlinks: false, images: null }); // where a link leads always stands beside it
  let kept = new Map<string, readonly string[]>();
  let version = context.version;
  const theme = markdownTheme(context);
  const piece = (text: string, width: number): readonly string[] => {
    if (version !== context.version) {
      kept = new Map();
      version = context.version;
    }
    const key = `${width}\n${text}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const lines = new Markdown(inert(text), 0, 0, theme, undefined, {
      renderLatex: false,
      preserveOrderedListMarkers: true,
    })
      .render(width)
      .map((line) => line.replace(/ +$/, ""));
    if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value ?? key);
    kept.set(key, lines);
    return lines;
  };
  return (text, width) =>
    paragraphs(text).flatMap((part, at) => (at === 0 ? piece(part, width) : ["", ...piece(part, width)]));
}

/** Pieces that stand for themselves: cut at empty lines that are followed by ordinary text, outside of code. */
function paragraphs(text: string): readonly string[] {
  const pieces: string[] = [];
  let current: string[] = [];
  let fence: string | undefined;
  const lines = text.split("\n");
  for (const [at, line] of lines.entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined && (fence === undefined || mark.startsWith(fence)))
      fence = fence === undefined ? mark : undefined;
    const next = lines[at + 1];
    if (
      fence === undefined &&
      line.trim() === "" &&
      current.length > 0 &&
      next !== undefined &&
      /^[\p{L}\p{N}#*_`"'([](?!\. |\) |[*+-] )/u.test(next) &&
      !/^([*+-]|\d+[.)])\s/.test(next)
    ) {
      pieces.push(current.join("\n").trimEnd());
      current = [];
    } else if (current.length > 0 || line.trim() !== "") current.push(line);
  }
  if (current.length > 0) pieces.push(current.join("\n").trimEnd());
  return pieces.filter((piece) => piece !== "");
}

function markdownTheme(context: ThemeContext): MarkdownTheme {
  const as = (role: Role) => (text: string) => context.style(role, text);
  const sgr = (on: number, off: number) => (text: string) =>
    context.theme.name === "none" && on !== 1 ? text : `\x1b[${on}m${text}\x1b[${off}m`;
  return {
    heading: as("heading"),
    link: as("link"),
    linkUrl: as("dim"),
    code: as("code"),
    codeBlock: (text) => text,
    codeBlockBorder: as("border"),
    quote: as("quote"),
    quoteBorder: as("border"),
    hr: as("border"),
    listBullet: as("accent"),
    bold: sgr(1, 22),
    italic: sgr(3, 23),
    strikethrough: sgr(9, 29),
    underline: sgr(4, 24),
    highlightCode: (code, language) => highlight(code, language, (role, text) => context.style(role, text)),
  };
}
