/** Two texts as lines that stayed, went and came. */

export type DiffLine = { readonly type: "same" | "gone" | "new" | "skip"; readonly text: string };

/** Above this many pairs of lines the changed middle is shown as taken out and put in. */
const MOST_PAIRS = 2_000_000;
const CONTEXT = 3;

/** With three lines around what changed; what is left out is one line of type `skip`. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const old = linesOf(before);
  const now = linesOf(after);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const head = old.slice(0, start).map((text) => ({ type: "same", text }) as const);
  const tail = old.slice(old.length - end).map((text) => ({ type: "same", text }) as const);
  const middle = changed(old.slice(start, old.length - end), now.slice(start, now.length - end));
  return shortened([...head, ...middle, ...tail]);
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** By the longest common subsequence. */
function changed(old: readonly string[], now: readonly string[]): readonly DiffLine[] {
  const gone = (text: string): DiffLine => ({ type: "gone", text });
  const came = (text: string): DiffLine => ({ type: "new", text });
  if (old.length * now.length > MOST_PAIRS) return [...old.map(gone), ...now.map(came)];
  const width = now.length + 1;
  const longest = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      longest[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ type: "same", text: old[i++] ?? "" });
      j++;
    } else if (i < old.length && (j >= now.length || at(i + 1, j) >= at(i, j + 1))) lines.push(gone(old[i++] ?? ""));
    else lines.push(came(now[j++] ?? ""));
  }
  return lines;
}

function shortened(lines: readonly DiffLine[]): readonly DiffLine[] {
  const near = new Uint8Array(lines.length);
  lines.forEach(({ type }, index) => {
    if (type !== "same") near.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  });
  const shown: DiffLine[] = [];
  lines.forEach((line, index) => {
    if (near[index] === 1) shown.push(line);
    else if (shown.at(-1)?.type !== "skip") shown.push({ type: "skip", text: "" });
  });
  return shown;
}
