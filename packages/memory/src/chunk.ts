/** Cuts a text into passages, at paragraphs, lines, sentences or words, in this order of preference. */

import { MEMORY_LIMITS as LIMITS } from "./limits.ts";

/** Where a passage may end, the best place first. */
const ENDS: readonly RegExp[] = [/\n\s*\n/gu, /\n/gu, /[.!?。！？]["')\]]*(?=\s|$)|[。！？]/gu, /\s/gu];

/** Passages of at most `MEMORY_LIMITS.chunkCharacters`, in order; each begins with the end of the one before it. */
export function chunksOf(text: string): readonly string[] {
  const clean = text.toWellFormed().trim();
  const chunks: string[] = [];
  for (let start = 0; start < clean.length;) {
    const end = endOf(clean, start);
    const chunk = clean.slice(start, end).toWellFormed().trim();
    if (chunk !== "") chunks.push(chunk);
    if (end >= clean.length) break;
    start = startAfter(clean, end, start);
  }
  return chunks;
}

function endOf(text: string, start: number): number {
  const limit = start + LIMITS.chunkCharacters;
  if (limit >= text.length) return text.length;
  const least = start + LIMITS.chunkCharacters / 2;
  const half = text.slice(least, limit);
  for (const pattern of ENDS) {
    const last = [...half.matchAll(pattern)].at(-1);
    if (last !== undefined) return least + last.index + last[0].length;
  }
  return whole(text, limit);
}

/** Back by the overlap, to the beginning of a word. */
function startAfter(text: string, end: number, before: number): number {
  const back = Math.max(end - LIMITS.chunkOverlap, before + 1);
  const word = text.slice(back, end).search(/\s/u);
  return whole(text, word === -1 ? back : back + word + 1);
}

/** Not between the halves of one character. */
function whole(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}
