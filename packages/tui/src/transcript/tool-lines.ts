/** The card of a tool call: what it does, how it goes, what came of it, and what it changed. */

import type { DiffPart, Json, ToolStatus } from "@capstan/core";
import { inert, inertLine } from "../inert.ts";
import { TERMINAL_LIMITS } from "../limits.ts";
import { shownDuration } from "../shown-values.ts";
import type { ThemeContext } from "../theme-context.ts";
import type { Role } from "../themes.ts";
import { wrap } from "../view/text-width.ts";
import { diffLines, type DiffLine } from "./diff-lines.ts";
import type { ToolItem } from "./item.ts";

const LOOKS = {
  writing: ["waiting", "dim"],
  proposed: ["waiting", "dim"],
  running: ["waiting", "accent"],
  ok: ["ok", "success"],
  error: ["failed", "error"],
  denied: ["failed", "error"],
  cancelled: ["failed", "warning"],
  timeout: ["failed", "warning"],
  unknown: ["failed", "error"],
} as const satisfies Record<ToolItem["status"], readonly ["ok" | "failed" | "waiting", Role]>;
const ENDED: { readonly [status in ToolStatus]: string } = {
  ok: "",
  error: "failed",
  denied: "denied",
  cancelled: "cancelled",
  timeout: "took too long",
  unknown: "outcome unknown",
};
const SLOW_MS = 1_000;

export type CardView = { readonly width: number; readonly unfolded: boolean };

export function toolLines(item: ToolItem, view: CardView, context: ThemeContext): readonly string[] {
  const { style, glyphs } = context;
  const [glyph, role] = LOOKS[item.status];
  const title = inertLine(item.title, 200) || inertLine(item.name, 60);
  const said = [
    ...(item.kind === undefined ? [] : [item.kind]),
    ...(item.status in ENDED && item.status !== "ok" ? [ENDED[item.status as ToolStatus]] : []), // the others are no end
    ...(item.durationMs !== undefined && item.durationMs >= SLOW_MS ? [shownDuration(item.durationMs)] : []),
    ...(item.by === undefined ? [] : [`by ${inertLine(item.by, 30)}`]),
  ].join(`, `);
  const head = `${style(role, glyphs[glyph])} ${style("strong", title)}${said === "" ? "" : style("dim", `  ${said}`)}`;
  const body = bodyOf(item, view, context);
  return ["", head, ...body.map((line) => `  ${line}`)];
}

function bodyOf(item: ToolItem, view: CardView, context: ThemeContext): readonly string[] {
  const { style, glyphs } = context;
  const inner = { ...view, width: Math.max(8, view.width - 4) };
  const bar = (role: Role, lines: readonly string[]): readonly string[] =>
    lines.map((line) => `${style("border", glyphs.bar)} ${style(role, line)}`);
  switch (item.status) {
    case "writing":
      return view.unfolded ? bar("dim", lastOf(item.progress, inner.width)) : [];
    case "proposed":
      return [];
    case "running": {
      const lines = lastOf(item.progress, inner.width);
      const activity =
        item.activity === undefined ? [] : [`${glyphs.pointer} ${inertLine(item.activity, inner.width)}`];
      return bar("dim", [...(view.unfolded ? inputOf(item.input, inner.width) : []), ...activity, ...lines]);
    }
    default: {
      const input = view.unfolded ? bar("dim", inputOf(item.input, inner.width)) : [];
      const diffs = item.diffs.flatMap((diff) => diffOf(diff, inner, context));
      // what was changed says more than the sentence about it; what was read is for the model
      const quiet =
        item.status === "ok" &&
        !view.unfolded &&
        (item.diffs.length > 0 || item.kind === "read" || item.kind === "search");
      if (!quiet) return [...input, ...bar(item.status === "ok" ? "dim" : "warning", outputOf(item, inner)), ...diffs];
      return [...input, ...(item.diffs.length > 0 ? [] : bar("dim", [countOf(item.output)])), ...diffs];
    }
  }
}

function lastOf(progress: string, width: number): readonly string[] {
  if (progress.trim() === "") return [];
  return wrap(inert(lastLineOfEach(progress).trimEnd()), width).slice(-TERMINAL_LIMITS.progressLines);
}

/** Of a line that a program wrote over and over, what it wrote last. */
function lastLineOfEach(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(/[^\n]*\r(?=[^\n])/g, "");
}

function inputOf(input: Json, width: number): readonly string[] {
  if (input === null) return [];
  const text = typeof input === "string" ? input : JSON.stringify(input, undefined, 1);
  return wrap(inert(text.slice(0, TERMINAL_LIMITS.progressCharacters)), width).slice(0, TERMINAL_LIMITS.requestLines);
}

function countOf(output: string): string {
  const lines = output === "" ? 0 : output.trimEnd().split("\n").length;
  return lines === 1 ? "1 line" : `${lines} lines`;
}

/** Of a program the end says most when it failed, of everything else the beginning. */
function outputOf({ output, kind, status }: ToolItem, { width, unfolded }: CardView): readonly string[] {
  const text = output.trim();
  if (text === "") return [];
  const all = wrap(inert(lastLineOfEach(text)), width);
  const most = unfolded ? TERMINAL_LIMITS.unfoldedLines : TERMINAL_LIMITS.foldedLines;
  if (all.length <= most) return all;
  const more = `(${all.length - most} more lines${unfolded ? "" : ", ctrl+o shows them"})`;
  return kind === "execute" && status !== "ok" ? [more, ...all.slice(-most)] : [...all.slice(0, most), more];
}

function diffOf(
  { path, before, after }: DiffPart,
  { width, unfolded }: CardView,
  { style }: ThemeContext,
): readonly string[] {
  const lines = diffLines(before, after);
  const count = (type: DiffLine["type"]): number => lines.filter((line) => line.type === type).length;
  const most = unfolded ? TERMINAL_LIMITS.unfoldedLines : TERMINAL_LIMITS.foldedDiffLines;
  const digits = String(lines.at(-1)?.number ?? 1).length;
  const shown = lines.slice(0, most).map((line) => diffLine(line, digits, width, style));
  const head = `${style("dim", inertLine(path, width))} ${style("added", `+${count("added")}`)} ${style("removed", `-${count("removed")}`)}`;
  return [
    head,
    ...shown,
    ...(lines.length > most
      ? [style("dim", `(${lines.length - most} more lines${unfolded ? "" : ", ctrl+o shows them"})`)]
      : []),
  ];
}

function diffLine(
  { type, number, text }: DiffLine,
  digits: number,
  width: number,
  style: ThemeContext["style"],
): string {
  if (type === "gap") return style("dim", `${" ".repeat(digits)} ...`);
  const sign = { same: " ", added: "+", removed: "-" }[type];
  const line = `${String(number).padStart(digits)} ${sign} ${keptIndent(text, width)}`;
  return style(type === "same" ? "dim" : type, line);
}

/** Keeps the indentation. */
function keptIndent(text: string, width: number): string {
  return inert(text.slice(0, width * 4)).replaceAll("\n", " ");
}
