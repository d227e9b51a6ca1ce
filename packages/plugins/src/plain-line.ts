/** Text from files for places where a line has a meaning: one line, nothing that moves a cursor, hides or turns around. */

const ACTIVE = /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu;

/** At most `limit` UTF-16 units, the last of them a `…` where more was left out. */
export function plainLine(text: string, limit: number): string {
  const line = text.replaceAll(/\s+/g, " ").replaceAll(ACTIVE, "").trim();
  if (line.length <= limit) return line;
  return `${line
    .slice(0, limit - 1)
    .toWellFormed()
    .replace(/\ufffd$/, "")}…`;
}

/** For a value between quotes of a tag. */
export function inQuotes(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
