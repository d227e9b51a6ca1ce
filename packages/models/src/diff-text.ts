/** What a tool said as text for a model; a changed file is one hunk from its first changed line to its last. */

import type { DiffPart, TextPart } from "@capstan/core";

export function saidText(part: TextPart | DiffPart): string {
  return part.type === "diff" ? diffText(part) : part.text;
}

export function diffText(diff: DiffPart): string {
  const before = diff.before === undefined ? [] : diff.before.split("\n");
  const after = diff.after.split("\n");
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let same = 0;
  const most = Math.min(before.length, after.length) - start;
  while (same < most && before[before.length - 1 - same] === after[after.length - 1 - same]) same++;
  const removed = before.slice(start, before.length - same);
  const added = after.slice(start, after.length - same);
  const lines = [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)];
  return [`${diff.path} @@ -${start + 1},${removed.length} +${start + 1},${added.length} @@`, ...lines].join("\n");
}
