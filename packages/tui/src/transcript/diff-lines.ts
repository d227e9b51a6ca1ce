/** The difference of two texts as lines with their numbers and a little of what stands around. Pure. */

import { TERMINAL_LIMITS } from "../limits.ts";

export type DiffLine = {
  readonly type: "same" | "added" | "removed" | "gap";
  readonly number: number;
  readonly text: string;
};

const AROUND = 2;

export function diffLines(before: string | undefined, after: string): readonly DiffLine[] {
  const old = before === undefined || before === "" ? [] : before.split("\n");
  const now = after === "" ? [] : after.split("\n");
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  if (start === old.length && start === now.length) return [];
  const changed = middle(old.slice(start, old.length - end), now.slice(start, now.length - end), start);
  const line = (at: number): DiffLine => ({ type: "same", number: at + 1, text: now[at] ?? "" });
  const head = Array.from({ length: Math.min(AROUND, start) }, (_, at) => line(start - Math.min(AROUND, start) + at));
  const tail = Array.from({ length: Math.min(AROUND, end) }, (_, at) => line(now.length - end + at));
  return withGaps([...head, ...changed, ...tail]);
}

/** Exact where the two are small enough, else everything out and everything in. */
function middle(old: readonly string[], now: readonly string[], from: number): readonly DiffLine[] {
  const removed = (at: number): DiffLine => ({ type: "removed", number: from + at + 1, text: old[at] ?? "" });
  const added = (at: number): DiffLine => ({ type: "added", number: from + at + 1, text: now[at] ?? "" });
  if (old.length * now.length > TERMINAL_LIMITS.diffCells)
    return [...old.keys().map(removed), ...now.keys().map(added)];
  const width = now.length + 1;
  const common = new Uint32Array((old.length + 1) * width); // length of the longest common part from here on
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DiffLine[] = [];
  for (let i = 0, j = 0; i < old.length || j < now.length;) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ type: "same", number: from + j + 1, text: now[j] ?? "" });
      i += 1;
      j += 1;
    } else if (i < old.length && (j >= now.length || at(i + 1, j) >= at(i, j + 1))) lines.push(removed(i++));
    else lines.push(added(j++));
  }
  return lines;
}

/** Long stretches without a change become one line. */
function withGaps(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isNear = lines.map(() => false);
  for (const [at, { type }] of lines.entries())
    if (type !== "same") isNear.fill(true, Math.max(0, at - AROUND), at + AROUND + 1);
  const shown: DiffLine[] = [];
  for (const [at, line] of lines.entries()) {
    if (isNear[at] === true) shown.push(line);
    else if (shown.at(-1)?.type !== "gap") shown.push({ type: "gap", number: line.number, text: "" });
  }
  return shown;
}
