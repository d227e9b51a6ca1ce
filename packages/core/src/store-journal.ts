/** One hold on one session of a store: numbers facts, publishes what is stored, and stops at the first sign of a lost hold. */

import type { Channel } from "./broadcast.ts";
import type { Clock } from "./clock.ts";
import { CapstanError } from "./errors.ts";
import type { Fact, FactBody, Live, LiveBody, NewFact } from "./event.ts";
import type { AppendOptions, Appended, Journal } from "./journal.ts";
import { type Json, sha256 } from "./json.ts";
import type { MailboxEntry } from "./op.ts";
import type { SessionSummary, Snapshot, Store } from "./store.ts";
import { loadBlob, readAll } from "./store-read.ts";
import { summarize } from "./summary.ts";

export type HoldOf = {
  readonly sessionId: string;
  readonly epoch: number;
  readonly head: number;
  readonly attemptId: string;
  readonly summary: SessionSummary | undefined;
  readonly channel: Channel;
  /** Told when a timer was set for `at`. */
  readonly timerSet: (at: number) => void;
};

export class StoreJournal implements Journal {
  readonly sessionId: string;
  readonly epoch: number;
  readonly attemptId: string;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #channel: Channel;
  readonly #timerSet: (at: number) => void;
  readonly #lost = new AbortController();
  readonly #draining = new AbortController();
  /** Facts of the running run by key: what a second append of the same key answers with. */
  readonly #known = new Map<string, Fact>();
  #head: number;
  #published: number;
  #eph = 0;
  /** Live events whose facts are not stored yet. */
  #waiting: Live[] = [];
  #summary: SessionSummary | undefined;
  #mail: MailboxEntry[] = [];
  #lastPosition = 0;
  #mailMayWait = true;
  #arrived: (() => void) | undefined;

  constructor(store: Store, clock: Clock, hold: HoldOf) {
    this.sessionId = hold.sessionId;
    this.epoch = hold.epoch;
    this.attemptId = hold.attemptId;
    this.#store = store;
    this.#clock = clock;
    this.#channel = hold.channel;
    this.#timerSet = hold.timerSet;
    this.#head = hold.head;
    this.#published = hold.head;
    this.#summary = hold.summary;
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  read(options: { readonly after?: number; readonly types?: readonly FactBody["type"][] } = {}): AsyncIterable<Fact> {
    return readAll(this.#store, this.sessionId, options);
  }

  snapshot(): Promise<Snapshot | undefined> {
    return this.#store.snapshot(this.sessionId);
  }

  append(newFacts: readonly NewFact[], options: AppendOptions = {}): Appended {
    this.signal.throwIfAborted();
    const at = this.#clock.now();
    const fresh: Fact[] = [];
    const facts = newFacts.map((newFact) => {
      const known = this.#known.get(newFact.key);
      if (known !== undefined) return known;
      const fact: Fact = { ...newFact, seq: this.#head + fresh.length + 1, at };
      this.#known.set(fact.key, fact);
      fresh.push(fact);
      return fact;
    });
    if (fresh.length > 0) {
      this.#head += fresh.length;
      this.#eph = 0;
      if (fresh.some((fact) => fact.type === "run.finished")) this.#known.clear();
    }
    return { facts, stored: this.#write(fresh, at, options) };
  }

  /** Writes and, once that is done, publishes. Commits come back in the order of the calls. */
  async #write(facts: readonly Fact[], at: number, options: AppendOptions): Promise<void> {
    const { sync = false, consumes = [], timers = [], snapshot } = options;
    if (facts.length === 0 && consumes.length === 0 && timers.length === 0 && snapshot === undefined) return;
    const before = this.#summary;
    this.#summary = before === undefined ? undefined : facts.reduce(summarize, before);
    const changed = this.#summary !== before && this.#summary !== undefined;
    const { sessionId, epoch } = this;
    try {
      await this.#store.append(
        {
          sessionId,
          epoch,
          facts,
          ...(consumes.length > 0 && { consumes }),
          ...(timers.length > 0 && { timers }),
          ...(changed && { summary: { ...(this.#summary as SessionSummary), head: this.#head, updatedAt: at } }), // checked by `changed`
          ...(snapshot !== undefined && { snapshot }),
        },
        { sync },
      );
    } catch (error) {
      this.lose(error);
      throw error;
    }
    this.#publish(facts);
    for (const { at: due } of timers) if (due !== undefined) this.#timerSet(due);
  }

  async step<T extends Json | void>(_key: string, perform: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    return perform(this.signal);
  }

  async next(): Promise<MailboxEntry> {
    for (;;) {
      const entry = await this.poll();
      if (entry !== undefined) return entry;
      if (!this.#mailMayWait) await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
  }

  async poll(): Promise<MailboxEntry | undefined> {
    this.signal.throwIfAborted();
    if (this.#mail.length === 0 && this.#mailMayWait) {
      this.#mailMayWait = false;
      const waiting = await this.#store.mail(this.sessionId);
      this.signal.throwIfAborted();
      this.#mail = waiting.filter((found) => found.position > this.#lastPosition);
    }
    const entry = this.#mail.shift();
    if (entry !== undefined) this.#lastPosition = entry.position;
    return entry;
  }

  async putBlob(bytes: Uint8Array): Promise<string> {
    const hash = sha256(bytes);
    await this.#store.putBlob(hash, bytes);
    return hash;
  }

  blob(hash: string): Promise<Uint8Array> {
    return loadBlob(this.#store, hash);
  }

  live(events: readonly LiveBody[], runId?: string): void {
    if (!this.signal.aborted) this.lastWords(events, runId);
  }

  /** As `live`, also of a hold that is lost: why it ended. */
  lastWords(events: readonly LiveBody[], runId: string | undefined = this.#summary?.runId): void {
    const at = this.#clock.now();
    const named = runId === undefined ? {} : { runId };
    const seq = this.#head;
    const shown = events.map((event): Live => ({ ...event, seq, eph: ++this.#eph, at, ...named }));
    // what is shown must not stand before the facts it follows: it waits until they are stored
    if (seq === this.#published || this.signal.aborted) this.#channel.publishLive(shown);
    else this.#waiting.push(...shown);
  }

  mailArrived(): void {
    this.#mailMayWait = true;
    this.#wake();
  }

  drain(): void {
    this.#draining.abort(new CapstanError("closed", "The process is closing"));
  }

  /** The hold is over: nothing more is written, and whoever waits learns why. */
  lose(reason: unknown): void {
    if (!this.signal.aborted) this.#lost.abort(reason);
    this.#wake();
  }

  #wake(): void {
    const arrived = this.#arrived;
    this.#arrived = undefined;
    arrived?.();
  }

  #publish(facts: readonly Fact[]): void {
    const last = facts.at(-1);
    if (last === undefined) return;
    this.#published = last.seq;
    this.#channel.publishFacts(facts);
    if (this.#waiting.length === 0) return;
    const ready = this.#waiting.filter((event) => event.seq <= last.seq);
    this.#waiting = this.#waiting.filter((event) => event.seq > last.seq);
    this.#channel.publishLive(ready);
  }
}
