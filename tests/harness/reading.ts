/** What one reader has seen over all its visits, and what was wrong with it. */

import { type Cursor, cursorOf, type Event, type Fact, isLive } from "@capstan/core";

export class Reading {
  readonly facts: Fact[] = [];
  readonly problems: string[] = [];
  /** Text of each block, put together by offset. */
  readonly texts = new Map<string, string>();
  visits = 0;
  events = 0;
  sawText = false;
  cursor: Cursor | undefined;
  head = 0;
  #eph = 0;
  readonly #blocks = new Set<string>();
  /** False for one that comes in the middle: then the first fact may have any number. */
  #fromStart = true;

  /** `from`: the fact it starts behind; `undefined` for "end". Without an argument it goes on where it was. */
  connect(...from: readonly (number | undefined)[]): void {
    this.visits += 1;
    if (from.length === 0) return;
    this.#fromStart = from[0] !== undefined;
    this.head = from[0] ?? 0;
  }

  take(event: Event): void {
    this.events += 1;
    this.cursor = cursorOf(event);
    if (isLive(event)) this.#takeLive(event);
    else this.#takeFact(event);
  }

  #takeFact(fact: Fact): void {
    if (this.#fromStart && fact.seq !== this.head + 1) this.problems.push(`fact ${fact.seq} after ${this.head}`);
    this.head = fact.seq;
    this.#eph = 0;
    this.facts.push(fact);
    if (fact.type !== "message.added" || fact.turn === undefined) return;
    const [part] = fact.message.parts;
    const prefix = `${fact.runId}/turn/${fact.turn}/`;
    const block = [...this.texts.keys()].find((id) => id.startsWith(prefix)) ?? `${prefix}committed`;
    const shown = this.texts.get(block) ?? "";
    if (part?.type !== "text") return;
    if (!part.text.startsWith(shown)) this.problems.push(`${block} was shown as ${shown}`);
    this.texts.set(block, part.text); // the committed text supersedes what was shown
  }

  #takeLive(event: Extract<Event, { readonly eph: number }>): void {
    if (this.#fromStart && event.seq > this.head) this.problems.push(`a live event of ${event.seq} before that fact`);
    if (event.seq === this.head && event.eph < this.#eph)
      this.problems.push(`live event ${cursorOf(event)} after ${this.head}.${this.#eph}`);
    if (event.seq === this.head) this.#eph = Math.max(this.#eph, event.eph);
    if (event.type === "block.started") this.#blocks.add(event.blockId);
    if (event.type !== "text.delta") return;
    this.sawText = true;
    const { blockId, offset, delta } = event;
    const shown = this.texts.get(blockId) ?? "";
    if (!this.#blocks.has(blockId)) this.problems.push(`a delta of ${blockId}, which never started`);
    if (offset > shown.length) this.problems.push(`a gap in ${blockId}: ${offset} after ${shown.length}`);
    if (offset !== 0 && offset < shown.length) this.problems.push(`text of ${blockId} came twice`);
    this.texts.set(blockId, shown.slice(0, offset) + delta);
  }
}
