/** Answers calls of tools that do not exist: with the nearest names, or with what the author gives instead. */

import { type Plugin, plugin, type RejectedCall, type ToolOutput, textOutput } from "@capstan/core";

/** A text is an error for the model; a `ToolOutput` is what it says it is. Nothing: the nearest names. */
export type UnknownToolAnswer = (call: RejectedCall) => ToolOutput | string | undefined;

const MAX_SHOWN = 3;

export function unknownTool(answer: UnknownToolAnswer = () => undefined): Plugin {
  return plugin({
    name: "unknown-tool",
    reject(call) {
      if (call.cause !== "unknown-tool") return;
      const given = answer(call);
      if (typeof given === "string") return textOutput(given, { isError: true });
      return given ?? nearest(call);
    },
  });
}

/** The standard answer stands when no name is near. */
function nearest({ name, known }: RejectedCall): ToolOutput | undefined {
  const names = nearestNames(name, known);
  if (names.length === 0) return undefined;
  const said = `There is no tool named ${JSON.stringify(name)}. Did you mean ${names.join(" or ")}? Nothing was done.`;
  return textOutput(said, { isError: true });
}

/** At most three of the known names, the nearest first: the same but for case and punctuation, parts of each other, few letters apart. */
export function nearestNames(name: string, known: readonly string[]): readonly string[] {
  const wanted = plain(name);
  if (wanted === "" || wanted.length > 200) return [];
  return known
    .map((one) => ({ one, far: distance(wanted, plain(one)) }))
    .filter(({ one, far }) => far <= Math.max(2, Math.floor(plain(one).length / 3)))
    .toSorted((a, b) => a.far - b.far)
    .slice(0, MAX_SHOWN)
    .map(({ one }) => one);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** Letters to add, take out or change; 1 for a name that holds the other one. */
function distance(left: string, right: string): number {
  if (left === right) return 0;
  if (left.length > 2 && right.length > 2 && (left.includes(right) || right.includes(left))) return 1;
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [at, letter] of left.split("").entries()) {
    const next = [at + 1];
    for (let column = 1; column <= right.length; column++) {
      const changed = (row[column - 1] ?? 0) + (right[column - 1] === letter ? 0 : 1);
      next.push(Math.min(changed, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
