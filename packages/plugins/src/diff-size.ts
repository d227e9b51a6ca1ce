/** How much of a diff a model is shown: what differs, not the whole texts. */

import type { DiffPart } from "@capstan/core";

/** UTF-16 units of what changed, on both sides. */
export function diffSize({ before = "", after }: DiffPart): number {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before.charCodeAt(start) === after.charCodeAt(start)) start += 1;
  let end = 0;
  while (
    end < shorter - start &&
    before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)
  )
    end += 1;
  return before.length + after.length - 2 * (start + end);
}
