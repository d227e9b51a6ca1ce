/** Drives the sessions of one process: takes what is free, takes over from the dead, and gives back what is done. */

import type { Drive, WorkOptions } from "../ports/engine.ts";
import type { PendingSession, Store } from "../ports/store.ts";
import type { Clock } from "../words/clock.ts";
import { CapstanError, toProblem } from "../words/errors.ts";
import type { Problem } from "../words/event.ts";
import type { Ids } from "../words/ids.ts";
import { LIMITS } from "../words/limits.ts";
import { Alarm } from "./alarm.ts";
import type { Channel } from "./broadcast.ts";
import { SignOfLife } from "./sign-of-life.ts";
import { StoreJournal } from "./store-journal.ts";

type Held = { readonly journal: StoreJournal; readonly driving: Promise<void> };

type WorkerOptions = {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly commit: "tick" | "each";
  readonly channelOf: (sessionId: string, agent: string) => Channel;
  /** What this process showed of the session is over: readers go on from the store. */
  readonly holdEnded: (sessionId: string) => void;
};

export class Worker {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #options: WorkerOptions;
  readonly #life: SignOfLife;
  /** Rings for the next scan. */
  readonly #alarm: Alarm;
  readonly #held = new Map<string, Held>();
  readonly #taking = new Map<string, Promise<boolean>>();
  readonly #own = new Set<string>();
  /** Of those, what waits for an answer that this process can give. */
  readonly #waiting = new Set<string>();
  /** Sessions that could not be driven here, and why; asked again when they get new mail or an agent is added. */
  readonly #stuck = new Set<string>();
  /** Sessions whose last hold ended with an error that nobody foresaw. */
  readonly #failed = new Map<string, Problem>();
  #job: { readonly drive: Drive; readonly which: "own" | "all" } | undefined;
  /** When, by the monotonic clock, the first timer of a session that is held here is due. */
  #holdTimerDue = Number.POSITIVE_INFINITY;
  #scanning: Promise<void> | undefined;
  #scanAgain = false;
  #closed = false;

  constructor(store: Store, options: WorkerOptions) {
    const { clock, ids } = options;
    this.#store = store;
    this.#clock = clock;
    this.#ids = ids;
    this.#options = options;
    this.#life = new SignOfLife(store, clock, `own_${ids.random()}`);
    this.#alarm = new Alarm(clock, () => this.#scan());
  }

  holds(sessionId: string): boolean {
    return this.#held.has(sessionId);
  }

  /** The time of a session: of its hold, when it is held here. */
  timeOf(sessionId: string): number {
    return this.#held.get(sessionId)?.journal.now() ?? this.#clock.now();
  }

  /** A session that this process made: its own from the start, with nothing to do yet. */
  own(sessionId: string): void {
    this.#own.add(sessionId);
  }

  /** A session that is there already, perhaps with work that waits. */
  adopt(sessionId: string): void {
    if (this.#own.has(sessionId)) return;
    this.#own.add(sessionId);
    this.changed();
  }

  /** A session that waits for a person who can be asked here: driven once nobody else has it, although nothing has come for it. */
  takeWaiting(sessionId: string): void {
    this.#own.add(sessionId);
    this.#stuck.delete(sessionId);
    this.#waiting.add(sessionId);
    this.#scan();
  }

  /** New mail was stored by this process. */
  mailFor(sessionId: string, agent: string): void {
    this.#own.add(sessionId);
    this.#stuck.delete(sessionId);
    const held = this.#held.get(sessionId);
    if (held !== undefined) held.journal.mailArrived();
    else if (this.#wants(sessionId)) {
      // the short way: no look at every other session, unless somebody else has this one
      const underWay = this.#taking.has(sessionId); // it may have looked for mail before this came
      this.#take({ sessionId, agent }).then(
        (taken) => {
          if (!taken) this.#scan();
          else if (underWay) this.#held.get(sessionId)?.journal.mailArrived();
        },
        () => this.#scan(),
      );
    }
  }

  /** Something in the store changed: there may be sessions to take, and mail for what is held, as the scan finds out. */
  changed(): void {
    if (this.#job === undefined) for (const { journal } of this.#held.values()) journal.mailArrived();
    this.#scan();
  }

  async work(drive: Drive, { which, signal }: WorkOptions): Promise<void> {
    this.#job = { drive, which };
    this.#stuck.clear();
    this.changed();
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    if (this.#job?.drive === drive) this.#job = undefined;
    await this.#drain();
  }

  /** Ends the hold on a session that is about to be removed. */
  async drop(sessionId: string): Promise<void> {
    const held = this.#held.get(sessionId);
    held?.journal.lose(new CapstanError("session-not-found", `Session ${sessionId} was removed`));
    await held?.driving;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#job = undefined;
    this.#alarm.end();
    this.#life.cancel();
    await this.#scanning;
    await Promise.allSettled(this.#taking.values());
    const held = [...this.#held.values()];
    for (const { journal } of held) journal.lose(new CapstanError("closed", "The engine was closed"));
    await Promise.all(held.map(({ driving }) => driving));
  }

  /** Lets every drive come to its next stop. */
  async #drain(): Promise<void> {
    const held = [...this.#held.values()];
    for (const { journal } of held) journal.drain();
    await Promise.all(held.map(({ driving }) => driving));
  }

  /** One look at a time; a change during a look means another one. */
  #scan(): void {
    if (this.#job === undefined || this.#closed) return;
    this.#scanAgain = true;
    this.#scanning ??= this.#scanUntilQuiet();
  }

  async #scanUntilQuiet(): Promise<void> {
    await Promise.resolve(); // `#scanning` is set before this runs, and unset in the same breath as the last look at `#scanAgain`
    while (this.#scanAgain && !this.#closed && this.#job !== undefined) {
      this.#scanAgain = false;
      try {
        await this.#scanOnce();
      } catch {
        // the store is out of order for now: look again later, sessions are safe in it
        this.#alarm.ringIn(LIMITS.beatMs);
      }
    }
    this.#scanning = undefined;
  }

  async #scanOnce(): Promise<void> {
    if (this.#clock.monotonic() >= this.#holdTimerDue) await this.#bringHoldTimers();
    const next = await this.#store.fireTimers(this.#clock.now());
    if (next !== undefined) this.#alarm.ringIn(Math.max(0, next - this.#clock.now()));
    const pending = await this.#store.pending();
    const foreign: PendingSession[] = [];
    for (const session of pending) {
      const { sessionId, owner } = session;
      const held = this.#held.get(sessionId);
      if (held !== undefined) held.journal.mailArrived();
      else if (!this.#wants(sessionId)) continue;
      else if (owner === undefined || owner === this.#life.owner) {
        await this.#take(session).catch(passOver); // own: its release failed
        this.#held.get(sessionId)?.journal.mailArrived(); // mail may have come while it was taken
      } else foreign.push(session);
    }
    if (foreign.length > 0) await this.#takeOver(foreign);
    for (const sessionId of this.#waiting) await this.#takeFree(sessionId);
  }

  /** Until it is held here, or waits no more. Whoever has it alive may give it back. */
  async #takeFree(sessionId: string): Promise<void> {
    const summary = await this.#store.summary(sessionId);
    if (summary?.status !== "waiting" || this.#held.has(sessionId)) {
      this.#waiting.delete(sessionId);
      return;
    }
    if (!this.#wants(sessionId)) return;
    const session = { sessionId, agent: summary.agent };
    let taken = await this.#take(session);
    for (const { owner, alive } of taken ? [] : await this.#store.owners())
      taken ||= alive === false && (await this.#take(session, owner));
    if (taken) this.#waiting.delete(sessionId);
    else this.#alarm.ringIn(LIMITS.beatMs);
  }

  #wants(sessionId: string): boolean {
    if (this.#job === undefined || this.#closed || this.#stuck.has(sessionId)) return false;
    return this.#job.which === "all" || this.#own.has(sessionId);
  }

  /** Owners that are dead, or whose sign of life stood still for too long by our clock, lose what they hold. */
  async #takeOver(sessions: readonly PendingSession[]): Promise<void> {
    const owners = new Map((await this.#store.owners()).map((state) => [state.owner, state]));
    for (const session of sessions) {
      const { owner = "" } = session;
      if (this.#life.isGone(owners.get(owner))) await this.#take(session, owner).catch(passOver);
    }
    this.#alarm.ringIn(LIMITS.beatMs);
  }

  readonly #timerSet = (inMs: number): void => {
    const due = this.#clock.monotonic() + inMs;
    this.#holdTimerDue = Math.min(this.#holdTimerDue, due);
    this.#alarm.ringAt(due);
  };

  /** What is due by the time of the hold that set it comes due in the store too. */
  async #bringHoldTimers(): Promise<void> {
    this.#holdTimerDue = Number.POSITIVE_INFINITY;
    const bringing = [...this.#held.values()].map(({ journal }) => journal.bringTimers());
    for (const left of await Promise.allSettled(bringing)) if (left.status === "fulfilled") this.#timerSet(left.value); // one that is lost says so itself
  }

  /** Whether the session is held here afterwards. One try at a time: a second claim would displace the first. */
  #take(session: PendingSession, replacing?: string): Promise<boolean> {
    const { sessionId } = session;
    if (this.#held.has(sessionId)) return Promise.resolve(true);
    const underWay = this.#taking.get(sessionId);
    if (underWay !== undefined) return underWay;
    const taking = this.#claim(session, replacing).finally(() => this.#taking.delete(sessionId));
    this.#taking.set(sessionId, taking);
    return taking;
  }

  async #claim({ sessionId, agent }: PendingSession, replacing?: string): Promise<boolean> {
    const job = this.#job;
    if (job === undefined) return false;
    await this.#life.register();
    const [, claim, summary, mail] = await Promise.all([
      this.#held.size === 0 ? this.#life.show() : undefined,
      this.#store.claim(sessionId, this.#life.owner, replacing),
      this.#store.summary(sessionId),
      this.#store.mail(sessionId),
    ]);
    if (claim === undefined) return false;
    const journal = new StoreJournal(this.#store, this.#clock, {
      sessionId,
      ...claim,
      attemptId: this.#ids.random(),
      summary,
      mail,
      channel: this.#options.channelOf(sessionId, agent),
      commit: this.#options.commit,
      failed: this.#failed.get(sessionId),
      timerSet: this.#timerSet,
    });
    const driving = this.#drive(job.drive, journal, agent);
    this.#held.set(sessionId, { journal, driving });
    this.#failed.delete(sessionId);
    if (this.#closed) {
      journal.lose(new CapstanError("closed", "The engine was closed"));
    } else {
      this.#life.keepUp(() => this.#held.size > 0);
      if (this.#job !== job) journal.drain();
    }
    return true;
  }

  async #drive(drive: Drive, journal: StoreJournal, agent: string): Promise<void> {
    const { sessionId, epoch } = journal;
    let again = false;
    try {
      await drive(journal);
    } catch (error) {
      again = this.#endsRun(journal, error);
      if (!again) this.#report(journal, error);
    } finally {
      await journal.flush().catch(() => undefined); // it reported itself
      journal.lose(new CapstanError("lost-ownership", `This hold on ${sessionId} is over`));
      this.#held.delete(sessionId);
      this.#options.holdEnded(sessionId);
      await this.#store.release(sessionId, epoch).catch(() => undefined); // whoever opens next takes over from a dead owner
      if (again) this.#take({ sessionId, agent }).catch(() => this.#scan());
      else this.#scan();
    }
  }

  /** Whether another hold is to end the run with this error: once, for what is neither the store's nor a person's to put right. */
  #endsRun({ sessionId, failed }: StoreJournal, error: unknown): boolean {
    if (CapstanError.is(error) || failed !== undefined) return false;
    this.#failed.set(sessionId, toProblem(error));
    return true;
  }

  /**
   * An unexpected end of a drive is shown and not tried again at once: a store out of order a little later, what needs a
   * person (an agent, a folder) later still or with new mail of this process.
   */
  #report(journal: StoreJournal, error: unknown): void {
    const { sessionId } = journal;
    if (CapstanError.is(error, "closed", "lost-ownership", "session-not-found")) return;
    const problem = toProblem(error);
    this.#stuck.add(sessionId);
    const againMs = problem.code.startsWith("store-") ? LIMITS.beatMs : LIMITS.takeoverMs;
    this.#clock.after(againMs, () => (this.#stuck.delete(sessionId), this.#scan()), { background: true });
    journal.liveAfterLoss([{ type: "notice", severity: "error", code: problem.code, title: problem.message }]);
  }
}

/** One session that was removed, or is damaged, does not keep the others waiting. */
function passOver(error: unknown): void {
  if (!CapstanError.is(error, "session-not-found", "session-damaged")) throw error;
}
