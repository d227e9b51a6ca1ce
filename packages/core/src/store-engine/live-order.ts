/** What readers of one hold see, in order: facts once they are stored, live events behind the facts that they follow. */

import type { Fact, Live, LiveBody } from "../words/event.ts";
import type { Channel } from "./broadcast.ts";

export class LiveOrder {
  readonly #channel: Channel;
  /** Of the last fact that was numbered, and of the last that was stored. */
  #head: number;
  #published: number;
  #eph = 0;
  /** Of the last live event that readers got since the last published fact. */
  #shownEph = 0;
  /** Live events whose facts are not stored yet. */
  #waiting: Live[] = [];

  constructor(channel: Channel, head: number) {
    this.#channel = channel;
    this.#head = head;
    this.#published = head;
  }

  get head(): number {
    return this.#head;
  }

  /** So many facts more were numbered. */
  advance(facts: number): void {
    if (facts === 0) return;
    this.#head += facts;
    this.#eph = 0;
  }

  /** Facts that a lost hold had numbered are not in the log: nothing may stand behind them. */
  rewind(): void {
    if (this.#head !== this.#published) [this.#head, this.#eph] = [this.#published, this.#shownEph];
  }

  /** These are stored. */
  publish(facts: readonly Fact[]): void {
    for (const fact of facts) {
      this.#channel.publishFact(fact);
      this.#published = fact.seq;
      this.#shownEph = 0;
      if (this.#waiting.length > 0) this.#publishWaiting();
    }
  }

  /** What is shown must not stand before the facts it follows: it waits until they are stored. */
  live(events: readonly LiveBody[], common: { readonly at: number; readonly runId?: string }): void {
    const seq = this.#head;
    const numbered = events.map((event): Live => ({ ...event, seq, eph: ++this.#eph, ...common }));
    if (seq === this.#published) this.#show(numbered);
    else this.#waiting.push(...numbered);
  }

  #publishWaiting(): void {
    const behind = this.#waiting.findIndex((event) => event.seq > this.#published);
    this.#show(this.#waiting.splice(0, behind === -1 ? this.#waiting.length : behind));
  }

  #show(events: readonly Live[]): void {
    this.#shownEph = events.at(-1)?.eph ?? this.#shownEph;
    this.#channel.publishLive(events);
  }
}
