/** What an edit does to a text: a pure function of both, so that a probe can ask later whether it was done. */

import type { Probe } from "@capstan/core";
import { lineAt, linesOf, mainLineEnd, placesOf, withLineEnd, withoutMark, type LineEnd } from "./file-text.ts";

export type Edit = { readonly oldString: string; readonly newString: string; readonly replaceAll: boolean };
export type Plan =
  | { readonly ok: true; readonly text: string; readonly replaced: number; readonly lines: readonly number[] }
  | { readonly ok: false; readonly problem: string };

/** Pairs of texts an edit may mean, and how far occurrences are looked at. */
type Pair = { readonly from: string; readonly to: string };
const LINE_ENDS: readonly LineEnd[] = ["\n", "\r\n", "\r"];
const MAX_PLACES = 10_000;
const PROBE_PLACES = 20;
/** Places of which every choice is tried: the rest of them had the new text before. */
const PROBE_CHOICES = 8;
const PROBE_CHARACTERS = 20_000_000;

/** Finds the old text as given, with the file's line ends, or without pasted line numbers, in this order. */
export function planEdit(text: string, edit: Edit): Plan {
  if (edit.oldString === "") return { ok: false, problem: "old_string is empty. To create a file use write_file." };
  if (edit.oldString === edit.newString) return { ok: false, problem: "old_string and new_string are the same." };
  for (const pair of readings(edit, mainLineEnd(text))) {
    const places = placesOf(text, pair.from, MAX_PLACES);
    if (places.length === 0) continue;
    if (places.length > 1 && !edit.replaceAll) return { ok: false, problem: notUnique(text, places) };
    const pieces = text.split(pair.from);
    const replaced = pieces.length - 1;
    const after = pieces.join(pair.to);
    if (after === text) return { ok: false, problem: "The edit changes nothing: line ends stay as the file has them." };
    return { ok: true, text: after, replaced, lines: places.slice(0, 10).map((at) => lineAt(text, at)) };
  }
  return { ok: false, problem: notFound(text, edit.oldString) };
}

/**
 * Whether a text is one from before the edit, one from after it, or could be both. Old text that is still there does
 * not prove that nothing happened: the new text may contain it, or make it together with what stands around.
 */
export function probeEdit(text: string, edit: Edit): Probe {
  const pairs = readings(edit, mainLineEnd(text));
  if (pairs.some(({ from }) => text.includes(from))) return couldBeAfter(text, edit) ? "unknown" : "did-not";
  return pairs.some(({ to }) => text.includes(to)) ? "happened" : "unknown";
}

/** Whether doing the edit can have given this text. */
function couldBeAfter(text: string, edit: Edit): boolean {
  // what stood around a removed text may make the same text again: of "aabb" without "ab", "ab" is left
  if (allReadings(edit).some(({ from, to }) => to === "" && from.length > 1)) return true;
  const befores = beforesOf(text, edit);
  return befores === undefined || befores.length > 0;
}

/**
 * Texts from which the edit makes this one: undone at each place, or at some of them, and done again. Nothing when there
 * are too many to try. What was removed cannot be put back: a removal has none.
 */
export function beforesOf(text: string, edit: Edit): readonly string[] | undefined {
  const found = new Set<string>();
  for (const { from, to } of allReadings(edit)) {
    if (to === "") continue;
    const places = placesOf(text, to, PROBE_PLACES);
    if (places.length === PROBE_PLACES || places.length * text.length > PROBE_CHARACTERS) return undefined;
    const befores = places.map((at) => text.slice(0, at) + from + text.slice(at + to.length));
    if (edit.replaceAll && places.length > PROBE_CHOICES) return undefined;
    if (edit.replaceAll) befores.push(...undoneAt(text, places, { from, to }));
    for (const before of befores) {
      const plan = planEdit(before, edit);
      if (plan.ok && plan.text === text) found.add(before);
    }
  }
  return [...found];
}

/** The text undone at every choice of places that do not overlap. */
function undoneAt(text: string, places: readonly number[], { from, to }: Pair): readonly string[] {
  type Choice = { readonly made: string; readonly end: number };
  let choices: readonly Choice[] = [{ made: "", end: 0 }];
  for (const at of places) {
    const fit = choices.filter(({ end }) => end <= at);
    const undone = fit.map(({ made, end }) => ({ made: made + text.slice(end, at) + from, end: at + to.length }));
    choices = [...choices, ...undone];
  }
  return choices.map(({ made, end }) => made + text.slice(end)).filter((before) => before !== text);
}

/** Whether the text that the edit is to replace stands in this one. */
export function hasOldText(text: string, edit: Edit): boolean {
  return readings(edit, mainLineEnd(text)).some(({ from }) => text.includes(from));
}

/** Whether what the edit puts there stands in the text, with any line ends. */
export function hasNewText(text: string, edit: Edit): boolean {
  return allReadings(edit).some(({ to }) => text.includes(to));
}

/** Whether the edit may put nothing in the place of the old text. */
export function isRemoval(edit: Edit): boolean {
  return allReadings(edit).some(({ to }) => to === "");
}

/** What the texts may mean in any file. */
function allReadings(edit: Edit): readonly Pair[] {
  return LINE_ENDS.flatMap((end) => readings(edit, end));
}

/** What the texts may mean in a file with this line end, in the order of trial. */
function readings({ oldString, newString }: Edit, end: LineEnd): readonly Pair[] {
  const other = end === "\n" ? "\r\n" : "\n"; // in a file of lone carriage returns there is no other
  const given = { from: oldString, to: newString };
  const pairs: Pair[] = [];
  for (const { from, to } of [given, withoutNumbers(given)].filter((pair) => pair !== undefined)) {
    pairs.push({ from: withLineEnd(from, end), to: withLineEnd(to, end) });
    pairs.push({ from, to: withLineEnd(to, from.includes("\r\n") ? "\r\n" : end) });
    pairs.push({ from: withLineEnd(from, other), to: withLineEnd(to, from.includes("\n") ? other : end) });
  }
  return pairs.filter(({ from }) => from !== "");
}

const NUMBERED = /^ *(\d+)\t/;

/** The pair without the numbers of `read_file`, when every line of the old text has one and they count up. */
function withoutNumbers({ from, to }: Pair): Pair | undefined {
  const lines = from.split("\n");
  const body = lines.at(-1) === "" ? lines.slice(0, -1) : lines;
  const numbers = body.map((line) => Number(NUMBERED.exec(line)?.[1] ?? Number.NaN));
  const first = numbers[0] ?? Number.NaN;
  if (!numbers.every((number, index) => number === first + index)) return undefined;
  const stripped = to.split("\n").map((line) => line.replace(NUMBERED, ""));
  return { from: lines.map((line) => line.replace(NUMBERED, "")).join("\n"), to: stripped.join("\n") };
}

function notUnique(text: string, places: readonly number[]): string {
  const lines = places.slice(0, 10).map((at) => lineAt(text, at));
  const more = places.length > lines.length ? ", ..." : "";
  return (
    `old_string is in the file ${places.length} times (lines ${lines.join(", ")}${more}). ` +
    "Add lines around it so that it is there once, or set replace_all."
  );
}

function notFound(text: string, oldString: string): string {
  const wanted = linesOf(oldString).map((line) => line.replace(NUMBERED, "").trim());
  const first = wanted.find((line) => line !== "");
  const lines = linesOf(withoutMark(text)).map((line) => line.trim());
  const near = first === undefined ? -1 : lines.indexOf(first);
  if (near === -1) return "old_string is not in the file. Read the file again and copy the text exactly.";
  const offset = wanted.indexOf(first ?? "");
  const wrong = wanted.findIndex((line, index) => lines[near - offset + index] !== line);
  const reason = wrong === -1 ? "differs only in white space" : `differs from your line ${wrong + 1} on`;
  return `old_string is not in the file. What begins at line ${near - offset + 1} ${reason}. Read it again and copy the text exactly.`;
}
