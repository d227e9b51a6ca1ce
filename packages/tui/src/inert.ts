/** Text of others made harmless for a terminal (G20): it can neither move the cursor, nor hide, nor turn around what stands there. */

/** Controls but newline, and what changes the order of characters or cannot be seen. */
const ACTIVE = /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu;
/** What joins pictures into one stays. */
const PICTURE_BEFORE = /\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})?$/u;
const PICTURE_AFTER = /^\p{Extended_Pictographic}/u;
const JOINER = "\u200d";
const TAB = "    ";

/** Keeps newlines; a tab becomes spaces, a carriage return before a newline goes. Everything active shows as `\u{...}`. */
export function inert(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll("\t", TAB)
    .toWellFormed()
    .replace(ACTIVE, (found, at: number, whole: string) => {
      if (found === "\n" || (found === JOINER && isBetweenPictures(whole, at))) return found;
      return `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`;
    });
}

function isBetweenPictures(text: string, at: number): boolean {
  return PICTURE_BEFORE.test(text.slice(Math.max(0, at - 4), at)) && PICTURE_AFTER.test(text.slice(at + 1, at + 3));
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

/** What was pasted, without what a terminal would act on. It is sent as it then stands. */
export function pastable(text: string): string {
  return text.replaceAll(/[\u0080-\u009f\u202a-\u202e\u2066-\u2069]/g, "");
}
