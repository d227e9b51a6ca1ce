/** For tests: an embedder whose texts mean what they say of a few subjects, and which can be made to fail. */

import type { Embedder } from "./embedder.ts";

const SUBJECTS: readonly RegExp[] = [
  /\b(?:cats?|felines?|kittens?)\b/gi,
  /\b(?:deploy\w*|releases?|ship\w*)\b/gi,
  /\b(?:coffee|espresso|beans)\b/gi,
  /\b(?:tests?|specs?|suite)\b/gi,
];

export type ScriptedEmbedder = Embedder & { readonly asked: string[]; failing: boolean };

export function scriptedEmbedder(id = "scripted", dimensions: number = SUBJECTS.length + 1): ScriptedEmbedder {
  return {
    id,
    leastSimilarity: 0.5,
    asked: [],
    failing: false,
    async embed(texts) {
      if (this.failing) throw new Error("the embedder is away");
      this.asked.push(...texts);
      return texts.map((text) => {
        const counts = SUBJECTS.map((subject) => [...text.matchAll(subject)].length);
        const vector = [...counts, counts.every((count) => count === 0) ? 1 : 0];
        return [...vector, ...Array.from({ length: dimensions - vector.length }, () => 0)];
      });
    },
  };
}
