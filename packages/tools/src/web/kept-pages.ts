/** Pages that were read a moment ago, so that the next part of a long one is of the same text. Bounded, the oldest go first. */

import { WEB_LIMITS as LIMITS } from "./limits.ts";

/** What is shown of an address: a title and a text, and where it came from in the end. */
export type Page = {
  readonly url: string;
  readonly title: string;
  readonly text: string;
  readonly kind: string;
  /** What was left out, as sentences for the model. */
  readonly notes: readonly string[];
};

export class KeptPages {
  readonly #pages = new Map<string, Page>();

  get(key: string): Page | undefined {
    return this.#pages.get(key);
  }

  keep(key: string, page: Page): void {
    this.#pages.delete(key);
    this.#pages.set(key, page);
    let characters = [...this.#pages.values()].reduce((sum, { text }) => sum + text.length, 0);
    for (const [oldest, { text }] of this.#pages) {
      if (this.#pages.size <= LIMITS.keptPages && characters <= LIMITS.keptCharacters) return;
      this.#pages.delete(oldest);
      characters -= text.length;
    }
  }
}
