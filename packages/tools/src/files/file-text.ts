/** Bytes as text: only valid UTF-8 without NUL is text. The byte order mark and line ends stay in it. */

import { CapstanError } from "@capstan/core";
import { shownPath } from "../tool-answer.ts";

export type LineEnd = "\n" | "\r\n" | "\r";

/** Throws `not-text` for binary files and other encodings. */
export function decodeText(bytes: Uint8Array, path: string): string {
  const what = kindOf(bytes);
  if (what !== undefined) throw new CapstanError("not-text", `${shownPath(path)} is ${what}`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    const message = `${shownPath(path)} is not UTF-8 text: it is binary or in another encoding. Convert a copy with a shell command`;
    throw new CapstanError("not-text", message, { cause });
  }
}

export function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** Lines without their ends. A newline at the end of the text closes the last line and opens none. */
export function linesOf(text: string): string[] {
  return linesFrom(text, 1, Number.MAX_SAFE_INTEGER).lines;
}

/** At most `limit` lines from line `first` on, counted from 1, and how many there are in all. Makes no text of the others. */
export function linesFrom(
  text: string,
  first: number,
  limit: number,
): { readonly lines: string[]; readonly all: number } {
  const end = mainLineEnd(text) === "\r" ? "\r" : "\n";
  const lines: string[] = [];
  let all = 0;
  for (let start = 0; start < text.length;) {
    const found = text.indexOf(end, start);
    const stop = found === -1 ? text.length : found;
    all += 1;
    if (all >= first && lines.length < limit) {
      lines.push(text.slice(start, text[stop - 1] === "\r" && stop > start ? stop - 1 : stop));
    }
    start = stop + 1;
  }
  return { lines, all };
}

/** The line end most lines of a text have. A lone carriage return ends a line only where nothing else does. */
export function mainLineEnd(text: string): LineEnd {
  const all = countOf(text, "\n");
  if (all === 0) return text.includes("\r") ? "\r" : "\n";
  return countOf(text, "\r\n") * 2 > all ? "\r\n" : "\n";
}

export function withLineEnd(text: string, end: LineEnd): string {
  const plain = text.replaceAll("\r\n", "\n");
  return end === "\n" ? plain : plain.replaceAll("\n", end);
}

/** Where `part` occurs, overlaps included, at most `limit` places. */
export function placesOf(text: string, part: string, limit: number): number[] {
  const places: number[] = [];
  if (part === "") return places;
  for (let at = text.indexOf(part); at !== -1 && places.length < limit; at = text.indexOf(part, at + 1))
    places.push(at);
  return places;
}

/** Number of the line that holds the character at `index`. */
export function lineAt(text: string, index: number): number {
  return countOf(text.slice(0, index), "\n") + 1;
}

/** First bytes of files that a model may want to read, and what to tell it. */
const KINDS: readonly (readonly [first: string, what: string])[] = [
  ["\xff\xfe", "UTF-16 text. Convert a copy with a shell command such as iconv -f UTF-16 -t UTF-8"],
  ["\xfe\xff", "UTF-16 text. Convert a copy with a shell command such as iconv -f UTF-16 -t UTF-8"],
  ["\x89PNG", "an image, no text"],
  ["\xff\xd8\xff", "an image, no text"],
  ["GIF8", "an image, no text"],
  ["%PDF-", "a PDF, no text"],
];

function kindOf(bytes: Uint8Array): string | undefined {
  const first = String.fromCharCode(...bytes.subarray(0, 8));
  const known = KINDS.find(([start]) => first.startsWith(start))?.[1];
  return known ?? (bytes.includes(0) ? "a binary file: it contains NUL bytes" : undefined);
}

function countOf(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}
