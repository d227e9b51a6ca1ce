/** Bytes as text: only valid UTF-8 without NUL is text. The byte order mark and line ends stay in it. */

import { CapstanError } from "@capstan/core";
import { shownPath } from "../tool-answer.ts";

export type LineEnd = "\n" | "\r\n";

/** Throws `not-text` for binary files and other encodings. */
export function decodeText(bytes: Uint8Array, path: string): string {
  if (bytes.includes(0)) {
    throw new CapstanError("not-text", `${shownPath(path)} is a binary file: it contains NUL bytes`);
  }
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
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

/** The line end most lines of a text have. */
export function mainLineEnd(text: string): LineEnd {
  const all = countOf(text, "\n");
  return countOf(text, "\r\n") * 2 > all ? "\r\n" : "\n";
}

export function withLineEnd(text: string, end: LineEnd): string {
  const plain = text.replaceAll("\r\n", "\n");
  return end === "\n" ? plain : plain.replaceAll("\n", "\r\n");
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

function countOf(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}
