/** Text of others made harmless for a terminal (G20): it can neither move the cursor, nor hide, nor turn around what stands there. */

/** Controls but tab and newline, and what changes the order of characters or cannot be seen. */
const ACTIVE = /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu;

/** Keeps tabs and newlines; a carriage return before a newline goes. Everything active shows as `\u{...}`. */
export function inert(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(ACTIVE, (found) => {
    if (found === "\n" || found === "\t") return found;
    return `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** A line of JSON with the same value: what is active stands in it as an escape. */
export function inertJson(line: string): string {
  return line.replace(ACTIVE, (found) =>
    found === "\t" ? found : found.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}

/** On one line, at most `limit` characters. */
export function inertLine(text: string, limit = 400): string {
  const line = inert(text.trim().replaceAll(/\s*\n\s*/g, " ")).replaceAll("\t", " ");
  if (line.length <= limit) return line;
  return `${line
    .slice(0, limit)
    .toWellFormed()
    .replace(/\ufffd$/, "")}...`;
}

/** A stream of pieces made inert without cutting a character or a line end in two. */
export function inertStream(): { push(piece: string): string; end(): string } {
  let held = "";
  return {
    push(piece) {
      const whole = held + piece;
      const keep = /[\ud800-\udbff\r]$/.test(whole) ? 1 : 0;
      held = whole.slice(whole.length - keep);
      return inert(whole.slice(0, whole.length - keep));
    },
    end() {
      const rest = inert(held.toWellFormed());
      held = "";
      return rest;
    },
  };
}
