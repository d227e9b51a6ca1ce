/** Words of a text in any language, for the full-text index, and a question as what that index is asked. */

import { MEMORY_LIMITS as LIMITS } from "./limits.ts";

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** English words that say nothing of what a text is about. Rare words count more in any language. */
const STOP = new Set(
  (
    "a about after all also am an and any are as at be because been but by can could did do does for from get had has have " +
    "he her him his how i if in into is it its just let me my no not of on or our out please she should so some than that " +
    "the their them then there these they this to up us was we were what when where which who why will with would you your"
  ).split(" "),
);

/** The words with a blank between them: languages that write none are cut by their dictionary. */
export function wordsOf(text: string): string {
  const words: string[] = [];
  for (const { segment, isWordLike } of segmenter.segment(text.normalize("NFKC")))
    if (isWordLike === true) words.push(segment);
  return words.join(" ");
}

/** An FTS5 query that finds any of the words; undefined when there are none worth looking for. */
export function matchQuery(text: string): string | undefined {
  const words = new Set<string>();
  for (const word of wordsOf(text.slice(0, LIMITS.queryCharacters).toWellFormed()).toLowerCase().split(" ")) {
    if (word !== "" && !STOP.has(word)) words.add(word);
    if (words.size >= LIMITS.queryWords) break;
  }
  if (words.size === 0) return undefined;
  return [...words].map((word) => `"${word.replaceAll('"', '""')}"`).join(" OR ");
}
