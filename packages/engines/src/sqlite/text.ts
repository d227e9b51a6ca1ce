/** Any JavaScript string as SQLite text and back: lone surrogates, which UTF-8 cannot hold, survive. */

/** Injective, and the text itself unless it is not well formed or could be taken for an escaped one. */
export function toText(value: string): string {
  return value.isWellFormed() && !value.startsWith('"') ? value : JSON.stringify(value);
}

/** A text that `toText` did not make, because it was altered, is given as it is. */
export function fromText(value: string): string {
  if (!value.startsWith('"')) return value;
  try {
    return String(JSON.parse(value));
  } catch {
    return value;
  }
}
