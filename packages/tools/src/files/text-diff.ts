/** What a tool changed in a file, as a part that doors can show. */

import type { DiffPart } from "@capstan/core";
import { cutAt } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";

/** Lines around the change when the whole text is too long to carry. */
const AROUND = 3;

/** The whole texts; beyond `diffCharacters` only the changed lines with three around them, cut at that bound. */
export function textDiff(path: string, before: string | undefined, after: string): DiffPart {
  if (Math.max(before?.length ?? 0, after.length) <= TOOL_LIMITS.diffCharacters) {
    return { type: "diff", path, ...(before !== undefined && { before }), after };
  }
  if (before === undefined) return { type: "diff", path, after: cutAt(after, TOOL_LIMITS.diffCharacters) };
  const old = before.split("\n");
  const now = after.split("\n");
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const region = (lines: readonly string[]): string => {
    const part = lines.slice(Math.max(0, start - AROUND), lines.length - Math.max(0, end - AROUND));
    return cutAt(part.join("\n"), TOOL_LIMITS.diffCharacters);
  };
  return { type: "diff", path, before: region(old), after: region(now) };
}
