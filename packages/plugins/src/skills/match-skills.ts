/** Which skills an input calls for by itself: their keywords stand in its text, or their tags among its tags. */

import type { Tags } from "@capstan/core";
import type { Skill } from "./skill.ts";

export type SkillInput = { readonly text: string; readonly tags: Tags };
/** True for a skill that is to become active. Called for each skill and input; it must give the same for the same. */
export type SkillMatcher = (skill: Skill, input: SkillInput) => boolean;

const MAX_CHARACTERS = 16_384;

/** Keywords as whole words without regard to case; of tags `value`, `name` or `name:value`. */
export const matchWords: SkillMatcher = ({ keywords, tags: wanted }, { text, tags }) => {
  const given = Object.entries(tags).flatMap(([name, value]) => [name, value, `${name}:${value}`]);
  if (wanted.some((tag) => given.some((one) => one.toLowerCase() === tag))) return true;
  const lower = text.slice(0, MAX_CHARACTERS).toLowerCase();
  return keywords.some((word) => hasWord(lower, word));
};

function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    const before = text.slice(Math.max(0, at - 2), at);
    const after = text.slice(at + word.length, at + word.length + 2);
    if (!/[\p{L}\p{N}]$/u.test(before) && !/^[\p{L}\p{N}]/u.test(after)) return true;
  }
  return false;
}
