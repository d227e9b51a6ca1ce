/** What stands in place of the editor for a while: a question, a list, a view. */

import { inertLine } from "../inert.ts";
import type { ThemeContext } from "../theme-context.ts";
import { choiceList, type Choice } from "../view/choice-list.ts";
import type { Key, Screen } from "../view/screen.ts";
import { fit, widthOf, wrap } from "../view/text-width.ts";

export interface Panel {
  lines(width: number, rows: number): readonly string[];
  key(key: Key): void;
}
/** What every panel needs. */
export type PanelPlace = { readonly context: ThemeContext; readonly screen: Screen };

/** A line across with a title in it. */
export function ruleLine({ style, glyphs }: ThemeContext, title: string, width: number): string {
  const text = title === "" ? "" : ` ${fit(title, Math.max(0, width - 6))} `;
  const rest = Math.max(0, width - 2 - widthOf(text));
  return style("border", glyphs.rule.repeat(2)) + style("accent", text) + style("border", glyphs.rule.repeat(rest));
}

/** What keys do, on two lines where one is too short. */
export function hintLines({ style }: ThemeContext, text: string, width: number): readonly string[] {
  return wrap(text, width)
    .slice(0, 2)
    .map((line) => style("dim", line));
}

/** A list under a title; the choice ends it. */
export function listPanel<Value>(
  { context }: PanelPlace,
  {
    title,
    choices,
    first,
    onChoose,
    onCancel,
  }: {
    readonly title: string;
    readonly choices: readonly Choice<Value>[];
    readonly first?: number;
    readonly onChoose: (value: Value) => void;
    readonly onCancel: () => void;
  },
): Panel {
  const list = choiceList(context, {
    choices,
    ...(first !== undefined && { first }),
    onChoose: ([value]) => {
      if (value !== undefined) onChoose(value);
    },
    onCancel,
  });
  return {
    lines: (width, rows) => [
      ruleLine(context, inertLine(title, 80), width),
      ...list.lines(width, Math.max(1, rows - 3)),
      ...hintLines(context, "enter takes it, esc closes", width),
    ],
    key: (key) => list.key(key),
  };
}
