/** Text of others made harmless for a terminal (G20): it can neither move the cursor, nor hide, nor turn around what stands there. */

/** Controls but tab and newline, and what changes the order of characters or cannot be seen. */
const ACTIVE = /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu;
const TAB = "    ";

/** Keeps newlines; a tab becomes spaces, a carriage return before a newline goes. Everything active shows as `\u{...}`. */
export function inert(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll("\t", TAB)
    .toWellFormed()
    .replace(ACTIVE, (found) => (found === "\n" ? found : `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`));
}

/** On one line, at most `limit` characters. */
export function inertLine(text: string, limit = 400): string {
  const short = text.length > limit * 4 ? text.slice(0, limit * 4) : text;
  const line = inert(short.trim().replaceAll(/\s*\n\s*/g, " "));
  return line.length <= limit
    ? line
    : `${line
        .slice(0, limit)
        .toWellFormed()
        .replace(/\ufffd$/, "")}...`;
}
