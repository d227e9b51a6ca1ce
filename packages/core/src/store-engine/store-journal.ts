/** One hold on one session of a store: numbers facts, publishes what is stored, and stops at the first sign of a lost hold. */

import type { AppendOptions, Appended, Journal } from "../ports/journal.ts";
import type { Append, LogSlice, SessionSummary, Snapshot, Store } from "../ports/store.ts";
import { type Clock, steady } from "../words/clock.ts";
import { CapstanError, messageOf } from "../words/errors.ts";
import type { Fact, LiveBody, NewFact, Problem } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import type { TimerSetting } from "../words/keys.ts";
import { LIMITS } from "../words/limits.ts";
import type { MailboxEntry } from "../words/op.ts";
import type { Channel } from "./broadcast.ts";
import { HoldTimers } from "./hold-timers.ts";
import { LiveOrder } from "./live-order.ts";
import { MailReader } from "./mail-reader.ts";
import { loadBlob, readAll, saveBlob } from "./store-read.ts";
import { summarize } from "./summary.ts";

type StoreJournalOptions = {
  readonly sessionId: string;
  readonly epoch: number;
  readonly head: number;
  readonly attemptId: string;
  readonly summary: SessionSummary | undefined;
  /** Unread when the hold began. */
  readonly mail: readonly MailboxEntry[];
  readonly channel: Channel;
  /** "tick": what nobody waits for is written at the end of the tick, together. "each": every append is a write. */
  readonly commit: "tick" | "each";
  readonly failed: Problem | undefined;
  /** Told when a timer was set that comes in so many milliseconds. */
  readonly timerSet: (ms: number) => void;
};

/** What goes to the store in one write. */
type PendingWrite = {
  readonly facts: Fact[];
  readonly consumes: number[];
  readonly timers: TimerSetting[];
  snapshot?: Snapshot;
  sync: boolean;
  readonly stored: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

export class StoreJournal implements Journal {
  readonly sessionId: string;
  readonly epoch: number;
  readonly attemptId: string;
  readonly now: () => number;
  failed?: Problem | undefined;
  readonly #store: Store;
  readonly #timers: HoldTimers;
  readonly #order: LiveOrder;
  readonly #mail: MailReader;
  readonly #commit: "tick" | "each";
  readonly #timerSet: (ms: number) => void;
  readonly #lost = new AbortController();
  readonly #draining = new AbortController();
  /** Facts of the running run by key, also of earlier holds: what a second append of the same key answers with. */
  readonly #known = new Map<string, Fact>();
  #next: PendingWrite | undefined;
  #last: Promise<void> = Promise.resolve();
  #summary: SessionSummary | undefined;

  constructor(store: Store, clock: Clock, hold: StoreJournalOptions) {
    this.sessionId = hold.sessionId;
    this.epoch = hold.epoch;
    this.attemptId = hold.attemptId;
    if (hold.failed !== undefined) this.failed = hold.failed;
    this.#store = store;
    this.now = steady(clock);
    this.#timers = new HoldTimers(clock, this.now);
    this.#order = new LiveOrder(hold.channel, hold.head);
    this.#mail = new MailReader({ load: () => store.mail(hold.sessionId), signal: this.signal }, hold.mail);
    this.#timerSet = hold.timerSet;
    this.#commit = hold.commit;
    this.#summary = hold.summary;
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }
  get draining(): AbortSignal {
    return this.#draining.signal;
  }

  /** Also what was numbered just now: the log is what was folded, stored or not yet. */
  async *read(options: LogSlice = {}): AsyncIterable<Fact> {
    await this.flush();
    for await (const fact of readAll(this.#store, this.sessionId, options)) {
      if (options.types === undefined) this.#note(fact);
      yield fact;
    }
  }

  snapshot(): Promise<Snapshot | undefined> {
    if (this.#order.head < LIMITS.snapshotFacts) return Promise.resolve(undefined); // none was made yet
    return this.#store.snapshot(this.sessionId);
  }

  append(newFacts: readonly NewFact[], options: AppendOptions = {}): Appended {
    this.signal.throwIfAborted();
    const at = this.now();
    const fresh: Fact[] = [];
    const facts = newFacts.map((newFact) => {
      const known = this.#known.get(newFact.key);
      if (known !== undefined) return known;
      // in place: a copy of each of so many shapes costs more than all else here
      const fact: Fact = Object.assign(newFact, { seq: this.#order.head + fresh.length + 1, at });
      this.#note(fact);
      if (fact.type === "run.finished") this.failed = undefined;
      fresh.push(fact);
      return fact;
    });
    this.#order.advance(fresh.length);
    return { facts, stored: this.#enqueue(fresh, options) };
  }

  #note(fact: Fact): void {
    if (fact.type === "run.finished") this.#known.clear();
    else this.#known.set(fact.key, fact);
  }

  /** Writes what waits for the end of the tick. Resolves when everything so far is stored. */
  flush(): Promise<void> {
    if (this.#next !== undefined) this.#write(this.#next);
    return this.#last;
  }

  /** Adds to the write of this tick; what somebody waits for goes at once, with all that came before it. */
  #enqueue(facts: readonly Fact[], options: AppendOptions): Promise<void> {
    const { sync = false, wait = false, consumes = [], timers = [], snapshot } = options;
    if (facts.length === 0 && consumes.length === 0 && timers.length === 0 && snapshot === undefined)
      return this.flush();
    const pending = (this.#next ??= this.#newWrite());
    pending.facts.push(...facts);
    pending.consumes.push(...consumes);
    if (timers.length > 0) pending.timers.push(...this.#timers.set(timers));
    if (snapshot !== undefined) pending.snapshot = snapshot;
    pending.sync ||= sync;
    if (sync || wait || this.#commit === "each") this.#write(pending);
    return pending.stored;
  }

  #newWrite(): PendingWrite {
    const { promise: stored, resolve, reject } = Promise.withResolvers<void>();
    stored.catch(() => undefined); // a failure is seen by whoever waits, and by `signal`
    const pending: PendingWrite = { facts: [], consumes: [], timers: [], sync: false, stored, resolve, reject };
    setImmediate(() => this.#write(pending));
    return pending;
  }

  /** Writes and, once that is done, publishes. Writes come back in the order in which they were made. */
  #write(pending: PendingWrite): void {
    if (this.#next !== pending) return;
    this.#next = undefined;
    this.#last = pending.stored;
    if (this.signal.aborted) return pending.reject(this.signal.reason); // what came before it may be missing
    const { facts, consumes, timers, snapshot, sync } = pending;
    const before = this.#summary;
    this.#summary = before === undefined ? undefined : facts.reduce(summarize, before);
    const changed = this.#summary === before ? undefined : this.#summary;
    const { sessionId, epoch } = this;
    const at = facts.at(-1)?.at ?? 0;
    const write: Append = {
      sessionId,
      epoch,
      facts,
      ...(consumes.length > 0 && { consumes }),
      ...(timers.length > 0 && { timers }),
      ...(changed !== undefined && { summary: { ...changed, head: this.#order.head, updatedAt: at } }),
      ...(snapshot !== undefined && { snapshot }),
    };
    this.#store.append(write, { sync }).then(
      () => {
        this.#order.publish(facts);
        if (timers.length > 0) this.#timerSet(this.#timers.nextMs);
        pending.resolve();
      },
      (error: unknown) => {
        const cause = isWritable(write) ? toStoreFailure(error) : error;
        this.lose(cause);
        pending.reject(cause);
      },
    );
  }

  /** Moves what is overdue by the time of this hold to the mailbox. Answers with the milliseconds to the next timer. */
  async bringTimers(): Promise<number> {
    const late = this.#timers.late();
    if (late.length > 0 && !this.signal.aborted) await this.#enqueue([], { timers: late, wait: true });
    return this.#timers.nextMs;
  }

  step<T extends Json | void>(_key: string, perform: () => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    return perform();
  }

  next(): Promise<MailboxEntry> {
    return this.#mail.next();
  }

  poll(): Promise<MailboxEntry | undefined> {
    return this.#mail.poll();
  }

  putBlob(bytes: Uint8Array): Promise<string> {
    return saveBlob(this.#store, bytes);
  }

  blob(hash: string): Promise<Uint8Array> {
    return loadBlob(this.#store, hash);
  }

  live(events: readonly LiveBody[], runId?: string): void {
    if (!this.signal.aborted) this.liveAfterLoss(events, runId);
  }

  /** As `live`, also of a hold that is lost: why it ended. */
  liveAfterLoss(events: readonly LiveBody[], runId: string | undefined = this.#summary?.runId): void {
    if (this.signal.aborted) this.#order.rewind();
    this.#order.live(events, { at: this.now(), ...(runId !== undefined && { runId }) });
  }

  mailArrived(): void {
    this.#mail.arrived();
  }

  drain(): void {
    this.#draining.abort(new CapstanError("closed", "The process is closing"));
  }

  /** The hold is over: nothing more is written, and whoever waits learns why. */
  lose(reason: unknown): void {
    if (!this.signal.aborted) this.#lost.abort(reason);
    this.#mail.wake();
  }
}

/** Whether the store is to blame when this was not written. */
function isWritable(write: Append): boolean {
  try {
    JSON.stringify(write);
    return true;
  } catch {
    return false;
  }
}

function toStoreFailure(error: unknown): CapstanError {
  if (CapstanError.is(error)) return error;
  return new CapstanError("store-failed", `The store did not take the write (${messageOf(error)}); try again`, {
    cause: error,
    retryable: true,
  });
}
