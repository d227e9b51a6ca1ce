/** Items as lines. The lines of an item are kept until it, the width, the theme or its folding changes. */

import { inert, inertLine } from "../inert.ts";
import { TERMINAL_LIMITS } from "../limits.ts";
import { shownCost, shownCount, shownDuration } from "../shown-values.ts";
import type { ThemeContext } from "../theme-context.ts";
import { fit, wrap } from "../view/text-width.ts";
import type { EndItem, Item, NoteItem, TextItem, UserItem } from "./item.ts";
import { markdownLines, type MarkdownLines } from "./markdown-lines.ts";
import { toolLines } from "./tool-lines.ts";

export type ItemView = { readonly width: number; readonly unfolded: boolean };
export type ItemLines = (item: Item, view: ItemView) => readonly string[];

type Drawn = { readonly key: string; readonly lines: readonly string[] };

export function itemLines(context: ThemeContext): ItemLines {
  const drawn = new WeakMap<Item, Drawn>();
  const markdown = markdownLines(context);
  return (item, view) => {
    const key = `${view.width}/${view.unfolded}/${context.version}`;
    const known = drawn.get(item);
    if (known?.key === key) return known.lines;
    const lines = attempt(() => linesOf(item, view, context, markdown)).map((line) => fit(line, view.width));
    drawn.set(item, { key, lines });
    return lines;
  };
}

/** What cannot be drawn must not take the terminal with it. */
function attempt(draw: () => readonly string[]): readonly string[] {
  try {
    return draw();
  } catch (error) {
    return ["", `(this cannot be shown: ${inertLine(String(error), 120)})`];
  }
}

function linesOf(item: Item, view: ItemView, context: ThemeContext, markdown: MarkdownLines): readonly string[] {
  switch (item.type) {
    case "user":
      return userLines(item, view, context);
    case "text":
      return item.text.trim() === "" ? [] : ["", ...markdown(item.text, view.width)];
    case "reasoning":
      return reasoningLines(item, view, context);
    case "tool":
      return toolLines(item, view, context);
    case "note":
      return noteLines(item, view, context);
    case "end":
      return endLines(item, view, context);
    default:
      return item satisfies never;
  }
}

function userLines(
  { text, files }: UserItem,
  { width, unfolded }: ItemView,
  { style, glyphs }: ThemeContext,
): readonly string[] {
  const all = text === "" ? [] : wrap(inert(text), width - 2);
  const most = unfolded ? TERMINAL_LIMITS.unfoldedLines : TERMINAL_LIMITS.requestLines;
  const shown = all.length > most ? [...all.slice(0, most), `(${all.length - most} more lines)`] : all;
  const lines = [...shown, ...files.map((file) => `+ ${inertLine(file, width)}`)];
  return ["", ...lines.map((line, at) => style("user", `${at === 0 ? glyphs.user : " "} ${line}`))];
}

function reasoningLines(
  { text, live }: TextItem,
  { width, unfolded }: ItemView,
  { style, glyphs }: ThemeContext,
): readonly string[] {
  const all = wrap(inert(text.trim()), width - 2);
  if (text.trim() === "") return [];
  if (unfolded)
    return [
      "",
      ...all.slice(0, TERMINAL_LIMITS.unfoldedLines).map((line) => style("reasoning", `${glyphs.bar} ${line}`)),
    ];
  if (live)
    return [
      "",
      ...all.slice(-TERMINAL_LIMITS.reasoningLines).map((line) => style("reasoning", `${glyphs.bar} ${line}`)),
    ];
  return ["", style("reasoning", `${glyphs.bar} thought: ${inertLine(text, Math.max(10, width - 12))}`)];
}

function noteLines(
  { severity, text }: NoteItem,
  { width, unfolded }: ItemView,
  { style }: ThemeContext,
): readonly string[] {
  const role = severity === "error" ? "error" : severity === "warning" ? "warning" : "dim";
  const lines = wrap(inert(text), width - 2).slice(
    0,
    unfolded ? TERMINAL_LIMITS.unfoldedLines : TERMINAL_LIMITS.noteLines,
  );
  return ["", ...lines.map((line, at) => style(role, `${at === 0 ? (severity === "info" ? "i" : "!") : " "} ${line}`))];
}

/** A run that came to its end says what it took, any other also why it ended. */
function endLines(item: EndItem, { width }: ItemView, { style, glyphs }: ThemeContext): readonly string[] {
  const { reason, problem, usage, turns, durationMs } = item;
  const took = [
    ...(durationMs === undefined ? [] : [shownDuration(durationMs)]),
    `${turns} ${turns === 1 ? "turn" : "turns"}`,
    `${shownCount(usage.inputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0))} in`,
    `${shownCount(usage.outputTokens)} out`,
    ...(usage.costMicroUsd === undefined ? [] : [shownCost(usage.costMicroUsd)]),
  ].join(` ${glyphs.dot} `);
  const why = reason === "end-turn" ? [] : [reason === "interrupted" ? "interrupted" : `ended: ${inertLine(reason)}`];
  const role = reason === "end-turn" ? "dim" : reason === "interrupted" ? "warning" : "error";
  return [
    "",
    ...(problem === undefined
      ? []
      : wrap(inert(problem), width)
          .slice(0, 12)
          .map((line) => style("error", line))),
    ...why.map((line) => style(role, line)),
    style("dim", took),
  ];
}
