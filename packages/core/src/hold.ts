/** What the loop has in hand while it drives one session: the journal, the state folded so far, and who waits for what. */

import type { Agent } from "./agent.ts";
import type { HaltReason } from "./decide.ts";
import { conversation, CONVERSATION_FACTS, type Conversation } from "./conversation.ts";
import type { Definitions } from "./definitions.ts";
import type { Fact, LiveBody, NewFact, Problem } from "./event.ts";
import type { AppendOptions, Journal } from "./journal.ts";
import type { Json } from "./json.ts";
import { LIMITS } from "./limits.ts";
import type { Plugin } from "./plugin.ts";
import type { Tool } from "./tool.ts";
import { initialState, reduce, type SessionState, STATE_VERSION } from "./state.ts";

/** One controller for each piece of work costs a tenth of `AbortSignal.any` over signals that live long. */
export type Stop = {
  readonly signal: AbortSignal;
  /** Called once, when the signal aborts. */
  onStop: () => void;
  abort(reason: unknown): void;
  /** The work is over: lets go of it. */
  end(): void;
};

/** A reason to end the run, with the mailbox entries that the end answers. */
export type Halt = { readonly reason: HaltReason; readonly positions: readonly number[]; readonly problem?: Problem };

export interface Hold {
  readonly journal: Journal;
  readonly definitions: Definitions;
  readonly agent: Agent<unknown>;
  /** Plugins of the runtime, then of the agent, outermost first. */
  readonly plugins: readonly Plugin[];
  /** Tools of the runtime's plugins and of the agent, by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  readonly state: SessionState;
  readonly halt: Halt | undefined;
  /** Aborts when a halt comes in; a new one after each `run.finished`. */
  readonly halted: AbortSignal;
  /** Calls whose code is running or waiting in this process, by call id. */
  readonly running: Map<string, Promise<void>>;
  /** Of those, what each waits for: a request or a timer. */
  readonly waiting: Map<string, string>;
  /** Requests handed to `onRequest` in this hold. */
  readonly asked: Set<string>;
  /** Redacts, numbers and folds the facts at once. Resolves at once too, unless it is told to wait until they are stored. */
  append(facts: readonly NewFact[], options?: AppendOptions): Promise<readonly Fact[]>;
  live(events: readonly LiveBody[]): void;
  notice(severity: "info" | "warning" | "error", code: string, title: string, detail?: string): void;
  /** Ends the active run for this reason as soon as its action can stop. `problem` with `failed`. */
  requestHalt(reason: HaltReason, options?: { readonly position?: number; readonly problem?: Problem }): void;
  /** Forgets a halt whose run is over. */
  clearHalt(): void;
  /** Takes the agent as it is defined now; called where a run begins. */
  refresh(): void;
  /** A signal for one piece of work: aborts when the hold is lost and, with `halts`, when the run is halted. */
  stop(options: { readonly halts: boolean }): Stop;
  /** Resolves after the next fact or halt; rejects when work in the background failed or the hold ends. */
  changed(): Promise<void>;
  wake(): void;
  /** Work beside the loop: its failure ends the drive. */
  background(work: Promise<unknown>): void;
  /** Waits until `ready`; answers "parked" when nothing happened for `LIMITS.parkAfterMs`. */
  idle(ready: () => boolean): Promise<"woken" | "parked">;
  /** All messages since the last compaction; read from the log once a hold. */
  conversation(): Promise<Conversation>;
  /** The plugin's fold over all facts so far. */
  own(plugin: Plugin): unknown;
  /** Stores the folds when enough facts came since the last snapshot. */
  snapshotIfDue(): void;
}

/** Folds the log of the session: its snapshot when there is one, and the facts after it. */
export async function openHold(journal: Journal, definitions: Definitions): Promise<Hold> {
  const folded = await foldLog(journal, definitions);
  return new SessionHold(journal, definitions, folded);
}

type Folds = Map<string, unknown>;
type Folded = {
  readonly state: SessionState;
  readonly agent: Agent<unknown>;
  readonly plugins: readonly Plugin[];
  readonly folds: Folds;
  readonly snapshotSeq: number;
};
type SnapshotData = { readonly state: SessionState; readonly folds: { readonly [plugin: string]: unknown } };

class SessionHold implements Hold {
  readonly journal: Journal;
  readonly definitions: Definitions;
  agent: Agent<unknown>;
  plugins: readonly Plugin[];
  tools: ReadonlyMap<string, Tool>;
  readonly running = new Map<string, Promise<void>>();
  readonly waiting = new Map<string, string>();
  readonly asked = new Set<string>();
  state: SessionState;
  halt: Halt | undefined;
  #halting = new AbortController();
  readonly #stops = new Map<Stop, boolean>();
  #folds: Folds;
  #snapshotSeq: number;
  #conversation: Conversation | undefined;
  #waiters: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
  #failure: { readonly error: unknown } | undefined;

  constructor(journal: Journal, definitions: Definitions, folded: Folded) {
    this.journal = journal;
    this.definitions = definitions;
    this.agent = folded.agent;
    this.plugins = folded.plugins;
    this.tools = toolsOf(definitions, folded.agent);
    journal.signal.addEventListener("abort", () => this.#stopAll(journal.signal.reason, false), { once: true });
    this.state = folded.state;
    this.#folds = folded.folds;
    this.#snapshotSeq = folded.snapshotSeq;
  }

  get halted(): AbortSignal {
    return this.#halting.signal;
  }

  async append(newFacts: readonly NewFact[], options: AppendOptions = {}): Promise<readonly Fact[]> {
    const { redactor } = this.definitions;
    const clean = redactor.active ? newFacts.map((fact) => redactor.json(fact)) : newFacts;
    const { facts, stored } = this.journal.append(clean, options);
    for (const fact of facts) if (fact.seq > this.state.head) this.#apply(fact);
    this.wake();
    if (options.sync === true || options.wait === true) await stored;
    else this.background(stored);
    return facts;
  }

  live(events: readonly LiveBody[]): void {
    this.journal.live(events, this.state.run?.id);
  }

  notice(severity: "info" | "warning" | "error", code: string, title: string, detail?: string): void {
    const notice = { type: "notice", severity, code, title, ...(detail !== undefined && { detail }) } as const;
    this.live([this.definitions.redactor.json(notice)]);
  }

  requestHalt(reason: HaltReason, options: { readonly position?: number; readonly problem?: Problem } = {}): void {
    const { position, problem = this.halt?.problem } = options;
    const positions = [...(this.halt?.positions ?? []), ...(position === undefined ? [] : [position])];
    this.halt = { reason: this.halt?.reason ?? reason, positions, ...(problem !== undefined && { problem }) };
    const why = new DOMException(`the run was halted: ${reason}`, "AbortError");
    this.#halting.abort(why);
    this.#stopAll(why, true);
    this.wake();
  }

  refresh(): void {
    const agent = this.definitions.agent(this.agent.name);
    if (agent === this.agent) return;
    this.agent = agent;
    this.plugins = [...this.definitions.plugins, ...agent.plugins];
    this.tools = toolsOf(this.definitions, agent);
    for (const plugin of this.plugins) {
      if (plugin.fold !== undefined && !this.#folds.has(plugin.name)) this.#folds.set(plugin.name, plugin.fold.start);
    }
  }

  stop({ halts }: { readonly halts: boolean }): Stop {
    const controller = new AbortController();
    const stop: Stop = {
      signal: controller.signal,
      onStop: () => undefined,
      abort: (reason) => {
        if (controller.signal.aborted) return;
        controller.abort(reason);
        stop.onStop();
      },
      end: () => void this.#stops.delete(stop),
    };
    this.#stops.set(stop, halts);
    if (this.journal.signal.aborted) stop.abort(this.journal.signal.reason);
    else if (halts && this.halted.aborted) stop.abort(this.halted.reason);
    return stop;
  }

  #stopAll(reason: unknown, onlyHalting: boolean): void {
    for (const [stop, halts] of this.#stops) if (halts || !onlyHalting) stop.abort(reason);
  }

  clearHalt(): void {
    this.halt = undefined;
    if (this.#halting.signal.aborted) this.#halting = new AbortController();
  }

  changed(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { resolve, reject } of waiters) {
      if (this.#failure === undefined) resolve();
      else reject(this.#failure.error);
    }
  }

  background(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.#failure ??= { error };
      this.wake();
    });
  }

  async idle(ready: () => boolean): Promise<"woken" | "parked"> {
    let parked = false;
    const cancel = this.definitions.clock.after(LIMITS.parkAfterMs, () => ((parked = true), this.wake()), {
      background: true,
    });
    const { draining } = this.journal;
    const drain = (): void => this.wake();
    draining.addEventListener("abort", drain);
    try {
      while (!ready() && !parked && !draining.aborted) await this.changed();
      return ready() ? "woken" : "parked";
    } finally {
      cancel();
      draining.removeEventListener("abort", drain);
    }
  }

  async conversation(): Promise<Conversation> {
    if (this.#conversation !== undefined) return this.#conversation;
    const loaded = conversation();
    const through = this.state.compactedThrough;
    for await (const fact of this.journal.read({ after: through, types: CONVERSATION_FACTS })) loaded.apply(fact);
    this.#conversation = loaded;
    return loaded;
  }

  own(plugin: Plugin): unknown {
    return this.#folds.get(plugin.name);
  }

  snapshotIfDue(): void {
    const { head } = this.state;
    if (head - this.#snapshotSeq < LIMITS.snapshotFacts) return;
    this.#snapshotSeq = head;
    const data: SnapshotData = { state: this.state, folds: Object.fromEntries(this.#folds) };
    const snapshot = { seq: head, version: STATE_VERSION, data: data as Json }; // folds are JSON by contract
    this.background(this.journal.append([], { snapshot }).stored);
  }

  #apply(fact: Fact): void {
    if (fact.seq !== this.state.head + 1)
      throw new Error(`fact ${fact.seq} after ${this.state.head}: the log was read out of order`);
    this.state = reduce(this.state, fact);
    this.#conversation?.apply(fact);
    for (const plugin of this.plugins) foldOwn(this.#folds, plugin, fact);
    if (fact.type === "run.finished") this.clearHalt();
  }
}

function toolsOf(definitions: Definitions, agent: Agent<unknown>): ReadonlyMap<string, Tool> {
  const shared = definitions.plugins.flatMap((plugin) => plugin.tools ?? []);
  return new Map([...shared, ...agent.tools].map((tool) => [tool.name, tool]));
}

async function foldLog(journal: Journal, definitions: Definitions): Promise<Folded> {
  const stored = await journal.snapshot();
  const snapshot = stored?.version === STATE_VERSION ? (stored.data as unknown as SnapshotData) : undefined; // written by snapshotIfDue
  let state = snapshot?.state;
  let agent = state === undefined ? undefined : definitions.agent(state.agent);
  let plugins = agent === undefined ? [] : [...definitions.plugins, ...agent.plugins];
  const folds: Folds = new Map(Object.entries(snapshot?.folds ?? {}));
  const fresh = plugins.filter((plugin) => plugin.fold !== undefined && !folds.has(plugin.name));
  for (const plugin of fresh) folds.set(plugin.name, plugin.fold?.start);
  // a plugin that is new to this session folds the whole log once
  const after = fresh.length > 0 ? 0 : (state?.head ?? 0);
  for await (const fact of journal.read({ after })) {
    const known = state !== undefined && fact.seq <= state.head;
    if (state === undefined) {
      if (fact.type !== "session.created") throw new Error(`the first fact of ${journal.sessionId} is ${fact.type}`);
      state = initialState(fact);
      agent = definitions.agent(state.agent);
      plugins = [...definitions.plugins, ...agent.plugins];
      for (const plugin of plugins) if (plugin.fold !== undefined) folds.set(plugin.name, plugin.fold.start);
    } else if (!known) state = reduce(state, fact);
    for (const plugin of known ? fresh : plugins) foldOwn(folds, plugin, fact);
  }
  if (state === undefined || agent === undefined) throw new Error(`session ${journal.sessionId} has no facts`);
  return { state, agent, plugins, folds, snapshotSeq: snapshot === undefined ? 0 : (stored?.seq ?? 0) };
}

function foldOwn(folds: Folds, plugin: Plugin, fact: Fact): void {
  if (plugin.fold !== undefined) folds.set(plugin.name, plugin.fold.next(folds.get(plugin.name), fact));
}
