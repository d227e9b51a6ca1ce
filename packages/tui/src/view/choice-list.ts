/** A list of which one thing is chosen, or several: with arrows, with a letter, or with the number of the line. */

import type { ThemeContext } from "../theme-context.ts";
import type { Key } from "./screen.ts";
import { fit, pad, widthOf } from "./text-width.ts";

export type Choice<Value> = {
  readonly value: Value;
  readonly label: string;
  readonly hint?: string;
  /** A single letter that chooses it. */
  readonly letter?: string;
};

export interface ChoiceList {
  lines(width: number, rows: number): readonly string[];
  key(key: Key): void;
}

export type ChoiceOptions<Value> = {
  readonly choices: readonly Choice<Value>[];
  readonly onChoose: (values: readonly Value[]) => void;
  readonly onCancel?: () => void;
  /** Space marks, enter takes all that is marked. */
  readonly several?: boolean;
  readonly first?: number;
};

/** All labels and hints are inert already. */
export function choiceList<Value>(
  context: ThemeContext,
  { choices, onChoose, onCancel, several = false, first = 0 }: ChoiceOptions<Value>,
): ChoiceList {
  let at = Math.min(Math.max(0, first), Math.max(0, choices.length - 1));
  const marked = new Set<number>();
  const choose = (index: number): void => {
    const choice = choices[index];
    if (choice === undefined) return;
    if (!several) return onChoose([choice.value]);
    const chosen = marked.size === 0 ? [index] : [...marked].toSorted((a, b) => a - b);
    onChoose(chosen.flatMap((one) => choices[one] ?? []).map(({ value }) => value));
  };
  const mark = (index: number): void => {
    if (!marked.delete(index)) marked.add(index);
  };
  return {
    lines: (width, rows) => listLines(context, { choices, at, marked: several ? marked : undefined }, width, rows),
    key({ name, data }) {
      if (name === "up" || name === "ctrl+p") at = (at - 1 + choices.length) % choices.length;
      else if (name === "down" || name === "ctrl+n") at = (at + 1) % choices.length;
      else if (name === "pageUp") at = Math.max(0, at - 10);
      else if (name === "pageDown") at = Math.min(choices.length - 1, at + 10);
      else if (name === "enter") choose(at);
      else if (name === "space" && several) mark(at);
      else if (name === "escape") onCancel?.();
      else {
        const byLetter = choices.findIndex(({ letter }) => letter !== undefined && letter === data);
        const index = byLetter !== -1 ? byLetter : /^[1-9]$/.test(data) ? Number(data) - 1 : -1;
        if (index === -1 || index >= choices.length) return;
        at = index;
        if (several) mark(index);
        else choose(index);
      }
    },
  };
}

type Shown = {
  readonly choices: readonly Choice<unknown>[];
  readonly at: number;
  readonly marked: ReadonlySet<number> | undefined;
};

function listLines(
  { style, glyphs }: ThemeContext,
  { choices, at, marked }: Shown,
  width: number,
  rows: number,
): readonly string[] {
  const count = Math.max(1, Math.min(choices.length, rows));
  const start = Math.max(0, Math.min(at - Math.floor(count / 2), choices.length - count));
  const labels = Math.min(
    Math.max(...choices.map(({ label }) => widthOf(label)), 1),
    Math.max(12, Math.floor(width * 0.6)),
  );
  const lines = choices.slice(start, start + count).map(({ label, hint = "", letter }, offset) => {
    const index = start + offset;
    const mark = marked === undefined ? "" : `${marked.has(index) ? glyphs.chosen : glyphs.open} `;
    const key = letter === undefined ? "" : `${letter}  `;
    const text = hint === "" ? label : pad(label, labels);
    const line = fit(`${index === at ? glyphs.pointer : " "} ${mark}${key}${text}`, width);
    const rest = width - widthOf(line) - 2;
    const shown = index === at ? style("selected", line) : line;
    return hint === "" || rest < 6 ? shown : `${shown}  ${style("dim", fit(hint, rest))}`;
  });
  return choices.length > count ? [...lines, style("dim", `  ${at + 1}/${choices.length}`)] : lines;
}
