/** The journal port: one worker's hold on one session. Its memory is the log and nothing else. */

import type { Fact, LiveBody, NewFact, Problem } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import type { TimerSetting } from "../words/keys.ts";
import type { MailboxEntry } from "../words/op.ts";
import type { LogSlice, Snapshot } from "./store.ts";

/** Every write carries `epoch`; a stale one throws `lost-ownership`. */
export interface Journal {
  readonly sessionId: string;
  /** Grows with every new hold. */
  readonly epoch: number;
  /** Random id of this hold: what makes an intent "ours". */
  readonly attemptId: string;
  /** The time of this hold, of its facts and its timers: the wall clock, but for steps that it makes meanwhile. */
  now(): number;
  /** The hold is lost or the engine closes: stop, write nothing. */
  readonly signal: AbortSignal;
  /** The unforeseen error that ended the hold before: this one ends the run with it, or it would come again. */
  readonly failed?: Problem | undefined;
  /** The process wants to close: finish what is in flight, begin nothing new. */
  readonly draining: AbortSignal;
  /** Oldest first. */
  read(options?: LogSlice): AsyncIterable<Fact>;
  snapshot(): Promise<Snapshot | undefined>;
  /**
   * Numbers the facts at once and stores them in this order. A key that the unfinished run has, also of an earlier hold, gives the fact that has it.
   * The objects are the journal's from then on. Throws when the hold is lost; a write that fails later ends the hold.
   */
  append(facts: readonly NewFact[], options?: AppendOptions): Appended;
  /** Names the place where an effect runs: a plain call locally, a run block with one attempt on an engine. */
  step<T extends Json | void>(key: string, perform: () => Promise<T>): Promise<T>;
  /** The next mailbox entry that was not yet handed out in this hold; waits for one. Only the loop reads it. Rejects when `signal` aborts. */
  next(): Promise<MailboxEntry>;
  /** As `next`, but `undefined` when none waits now. */
  poll(): Promise<MailboxEntry | undefined>;
  putBlob(bytes: Uint8Array): Promise<string>;
  blob(hash: string): Promise<Uint8Array>;
  /** Shown to subscribers, never awaited, never stored. */
  live(events: readonly LiveBody[], runId?: string): void;
}

/** Facts numbered now; `stored` settles when they survive the end of this process (with `sync`, in `full` durability, of the power). */
export type Appended = { readonly facts: readonly Fact[]; readonly stored: Promise<void> };

export type AppendOptions = {
  /** Goes to the disk in `full` durability, at once. */
  readonly sync?: boolean;
  /** Somebody waits for `stored`: written at once. Without `sync` or `wait` the facts may ride along with what follows in this tick. */
  readonly wait?: boolean;
  /** Mailbox positions that these facts answer. */
  readonly consumes?: readonly number[];
  /** Each becomes a mailbox entry when due. */
  readonly timers?: readonly TimerSetting[];
  readonly snapshot?: Snapshot;
};
