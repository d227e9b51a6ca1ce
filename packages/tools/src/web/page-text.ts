/** The bytes of a page as text: by its byte order mark, the charset of its head, or what its markup says. */

import { stripVTControlCharacters } from "node:util";

const MARKS: readonly (readonly [mark: string, charset: string])[] = [
  ["\u00ef\u00bb\u00bf", "utf-8"],
  ["\u00ff\u00fe", "utf-16le"],
  ["\u00fe\u00ff", "utf-16be"],
];
/** How far into a page its own word on its charset may stand. */
const CHARSET_BYTES = 1_024;
/** Characters that nobody sees, that turn text around, or that steer a terminal. */
const UNSEEN = /(?![\n\t])\p{Cc}|[\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** `contentType` as the server sent it. An unknown charset is read as UTF-8. */
export function pageText(bytes: Buffer, contentType: string): string {
  const start = bytes.subarray(0, CHARSET_BYTES).toString("latin1");
  const marked = MARKS.find(([mark]) => start.startsWith(mark))?.[1];
  const stated = /charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(contentType)?.[1];
  const own = /<(?:meta|\?xml)[^>]{0,500}?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(start)?.[1];
  return decode(bytes, marked ?? stated ?? own ?? "utf-8");
}

/** Whether bytes that were sent as text are none. */
export function isBinary(bytes: Buffer, contentType: string): boolean {
  const wide = /utf-?16/i.test(contentType) || /^(?:fffe|feff)/.test(bytes.toString("hex", 0, 2));
  return !wide && bytes.subarray(0, 8 * CHARSET_BYTES).includes(0);
}

/** Text of others made inert: what is left can be seen. */
export function inertText(text: string): string {
  return stripVTControlCharacters(text.toWellFormed()).replace(/\r\n?/g, "\n").replace(UNSEEN, "");
}

function decode(bytes: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes); // a charset that nobody knows
  }
}
