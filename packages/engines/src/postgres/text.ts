/** Any JavaScript string as Postgres text and back: NUL and lone surrogates survive, and long ones fit into an index. */

import { sha256 } from "@capstan/core";

/** Longer ones are indexed by their hash: an index takes up to 2,704 bytes a row. */
const INDEXED_CHARS = 400;

/** Injective, and the text itself unless Postgres cannot hold it or it could be taken for an escaped one. */
export function toText(value: string): string {
  return value.isWellFormed() && !value.startsWith('"') && !value.includes("\0") ? value : JSON.stringify(value);
}

export function fromText(value: string): string {
  if (!value.startsWith('"')) return value;
  try {
    return String(JSON.parse(value));
  } catch {
    return value; // altered by hand: given as it is
  }
}

/** What a text is found by. Short ones are themselves; no escaped text begins as the hashes do. */
export function toName(value: string): string {
  const text = toText(value);
  return text.length <= INDEXED_CHARS ? text : `""${sha256(text)}`;
}
