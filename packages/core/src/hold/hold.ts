/** What the loop has in hand while it drives one session: the journal, the state folded so far, and who waits for what. */

import type { Agent } from "../ports/agent.ts";
import type { Definitions } from "../ports/definitions.ts";
import type { AppendOptions, Journal } from "../ports/journal.ts";
import { asksForTools, type Plugin } from "../ports/plugin.ts";
import type { Tool } from "../ports/tool.ts";
import { conversation, CONVERSATION_FACTS, type Conversation } from "../state/conversation.ts";
import type { HaltReason } from "../state/decide.ts";
import type { RunState, SessionState } from "../state/session-state.ts";
import { reduce, STATE_VERSION } from "../state/state.ts";
import { messageOf } from "../words/errors.ts";
import type { Fact, LiveBody, NewFact, Problem } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import { LIMITS } from "../words/limits.ts";
import type { Folds } from "./folds.ts";
import { missingPlugins, pluginsOf, pluginsOfRun } from "./plugins-of.ts";
import { Stop } from "./stop.ts";
import { codeTools, toolsNow } from "./tool-set.ts";
import { Waiters } from "./waiters.ts";

/** A reason to end the run, with the mailbox entries that the end answers. */
type Halt = { readonly reason: HaltReason; readonly positions: readonly number[]; readonly problem?: Problem };

/** What a hold begins with. */
export type Folded = {
  readonly state: SessionState;
  readonly agent: Agent<unknown>;
  readonly plugins: readonly Plugin[];
  readonly folds: Folds;
  readonly snapshotSeq: number;
};
export type SnapshotData = { readonly state: SessionState; readonly folds: { readonly [plugin: string]: unknown } };

/** `agent`, `tools`, `state` and `halt` are set here only. */
export class Hold {
  readonly journal: Journal;
  readonly definitions: Definitions;
  agent: Agent<unknown>;
  /** Tools of the runtime's plugins and of the agent, by name. */
  tools: ReadonlyMap<string, Tool>;
  state: SessionState;
  halt: Halt | undefined;
  /** Calls whose code is running or waiting in this process, by call id. */
  readonly running: Map<string, Promise<void>> = new Map();
  /** Of those, what each waits for: requests and timers. */
  readonly waiting: Map<string, Set<string>> = new Map();
  /** Steps of a call's flow that are being performed. */
  readonly stepping: Map<string, number> = new Map();
  /** Requests that `onRequest` is thinking about: the hold does not park. */
  answering = 0;
  /** Requests handed to `onRequest` in this hold. */
  readonly asked: Set<string> = new Set();
  #halting = new AbortController();
  readonly #stops = new Set<Stop>();
  /** Also those that take no part in the run of now: every fold goes on. */
  #plugins: readonly Plugin[];
  readonly #folds: Folds;
  #snapshotSeq: number;
  #spawning = 0;
  #conversation: Conversation | undefined;
  readonly #waiters = new Waiters();
  #storing: Promise<void> | undefined;

  constructor(journal: Journal, definitions: Definitions, folded: Folded) {
    this.journal = journal;
    this.definitions = definitions;
    this.agent = folded.agent;
    this.#plugins = folded.plugins;
    this.tools = codeTools(definitions.plugins, folded.agent);
    journal.signal.addEventListener("abort", () => this.#stopAll(journal.signal.reason, false), { once: true });
    this.state = folded.state;
    this.#folds = folded.folds;
    this.#snapshotSeq = folded.snapshotSeq;
  }

  /** The run that is active. Throws when none is. */
  get run(): RunState {
    const { run, sessionId } = this.state;
    if (run === undefined) throw new Error(`session ${sessionId} has no active run`);
    return run;
  }

  /** Those that take part in the run of now, outermost first. */
  get plugins(): readonly Plugin[] {
    return pluginsOfRun(this.#plugins, this.state.run);
  }

  /** Names that the run's input gave and no plugin of this session has. */
  get missingPlugins(): readonly string[] {
    return missingPlugins(this.#plugins, this.state.run);
  }

  /** Aborts when a halt comes in; a new one after each `run.finished`. */
  get halted(): AbortSignal {
    return this.#halting.signal;
  }

  /** Whether what is under way is to end: the run was halted, or the hold is lost. */
  get stopping(): boolean {
    return this.halted.aborted || this.journal.signal.aborted;
  }

  /** Aborts with what makes `stopping` true. For work of one run; `stop` costs less where there is much of it. */
  stopSignal(): AbortSignal {
    return AbortSignal.any([this.halted, this.journal.signal]);
  }

  /** Redacts, numbers and folds the facts at once. Resolves at once too, unless it is told to wait until they are stored. */
  async append(newFacts: readonly NewFact[], options: AppendOptions = {}): Promise<readonly Fact[]> {
    const { redactor } = this.definitions;
    const clean = redactor.active ? newFacts.map((fact) => redactor.json(fact)) : newFacts;
    const { facts, stored } = this.journal.append(clean, options);
    for (const fact of facts) if (fact.seq > this.state.head) this.#apply(fact);
    this.wake();
    if (options.sync === true || options.wait === true) await stored;
    else if (stored !== this.#storing) this.background((this.#storing = stored)); // one for all of a tick
    return facts;
  }

  live(events: readonly LiveBody[]): void {
    this.journal.live(events, this.state.run?.id);
  }

  notice(severity: "info" | "warning" | "error", code: string, title: string, detail?: string): void {
    const notice = { type: "notice", severity, code, title, ...(detail !== undefined && { detail }) } as const;
    this.live([this.definitions.redactor.json(notice)]);
  }

  /** Ends the active run for this reason as soon as its action can stop. `problem` with `failed`. */
  requestHalt(reason: HaltReason, options: { readonly position?: number; readonly problem?: Problem } = {}): void {
    const { position, problem = this.halt?.problem } = options;
    const positions = [...(this.halt?.positions ?? []), ...(position === undefined ? [] : [position])];
    this.halt = { reason: this.halt?.reason ?? reason, positions, ...(problem !== undefined && { problem }) };
    const why = new DOMException(`the run was halted: ${reason}`, "AbortError");
    this.#halting.abort(why);
    this.#stopAll(why, true);
    this.wake();
  }

  /** Takes the agent in charge as it is defined now; called where a run begins, and where another one takes over. */
  async refresh(): Promise<void> {
    const agent = this.definitions.agent(this.state.agent);
    if (agent === this.agent) return;
    await this.#takeCharge(agent);
    if (this.state.run !== undefined) await this.askForTools();
  }

  /** Asks the plugins that know their tools only now: once a run, and where a hold takes one up. */
  async askForTools(): Promise<void> {
    if ([...this.definitions.plugins, ...this.agent.plugins].some(asksForTools))
      this.tools = await toolsNow(this, this.agent);
  }

  async #takeCharge(agent: Agent<unknown>): Promise<void> {
    const plugins = pluginsOf(this.definitions, agent, this.state.parent);
    const known = new Map(this.#plugins.flatMap(({ name, fold }) => (fold === undefined ? [] : [[name, fold]])));
    const same = agent.name === this.agent.name; // of another agent a plugin of the same name may be another one
    const isKnown = ({ name, fold }: Plugin): boolean => known.has(name) && (same || known.get(name) === fold);
    const fresh = plugins.filter((plugin) => plugin.fold !== undefined && !isKnown(plugin));
    this.#folds.begin(fresh);
    // what is appended meanwhile is read too: each fact is folded once, in its order
    for (let through = 0; fresh.length > 0 && through < this.state.head;) {
      for await (const fact of this.journal.read({ after: through })) {
        this.#folds.add(fresh, fact);
        through = fact.seq;
      }
    }
    this.tellFoldFailures();
    this.agent = agent;
    this.#plugins = plugins;
    this.tools = codeTools(this.definitions.plugins, agent);
  }

  /** A signal for one piece of work: aborts when the hold is lost and, with `halts`, when the run is halted. */
  stop({ halts }: { readonly halts: boolean }): Stop {
    const made = new Stop(halts, this.#ended);
    this.#stops.add(made);
    if (this.journal.signal.aborted) made.abort(this.journal.signal.reason);
    else if (halts && this.halted.aborted) made.abort(this.halted.reason);
    return made;
  }

  readonly #ended = (work: Stop): void => void this.#stops.delete(work);

  #stopAll(reason: unknown, onlyHalting: boolean): void {
    for (const work of this.#stops) if (work.halts || !onlyHalting) work.abort(reason);
  }

  /** Forgets a halt whose run is over. */
  clearHalt(): void {
    this.halt = undefined;
    if (this.#halting.signal.aborted) this.#halting = new AbortController();
  }

  /** Resolves after the next fact or halt; rejects when work in the background failed or the hold ends. */
  changed(): Promise<void> {
    return this.#waiters.changed();
  }

  wake(): void {
    this.#waiters.wake();
  }

  /** Nothing in this process moves the call before an answer or a timer comes. */
  isBlocked(callId: string): boolean {
    return (this.waiting.get(callId)?.size ?? 0) > 0 && (this.stepping.get(callId) ?? 0) === 0;
  }

  /** How many sub-agents share what is left: those asked for in one breath, and the calls of this turn that may ask yet. */
  async sharing(callId: string): Promise<number> {
    this.#spawning += 1;
    await Promise.resolve(); // those of one `Promise.all` are counted by then
    const tasks = Object.values(this.state.tasks);
    const others = this.run.calls.filter(
      ({ part, status }) =>
        status !== "finished" &&
        part.callId !== callId &&
        this.tools.get(part.name)?.body.type === "flow" &&
        !tasks.some((task) => task.callId === part.callId),
    );
    const among = this.#spawning + others.length;
    this.#spawning -= 1;
    return among;
  }

  /** Work beside the loop: its failure ends the drive. */
  background(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.#waiters.fail(error));
  }

  /** Waits until `ready`; answers "parked" when nothing happened for `LIMITS.parkAfterMs`. */
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

  /** All messages since the last compaction; read from the log once a hold. */
  async conversation(): Promise<Conversation> {
    if (this.#conversation !== undefined) return this.#conversation;
    const loaded = conversation();
    const through = this.state.compactedThrough;
    for await (const fact of this.journal.read({ after: through, types: CONVERSATION_FACTS })) loaded.apply(fact);
    this.#conversation = loaded;
    return loaded;
  }

  /** The plugin's fold over all facts so far. */
  own(plugin: Plugin): unknown {
    return this.#folds.of(plugin);
  }

  /** Stores the folds when enough facts came since the last snapshot. */
  snapshotIfDue(): void {
    const { head, run } = this.state;
    // an unfinished run is read from its start with or without a snapshot, and its calls make a large one
    const due = run === undefined ? LIMITS.snapshotFacts : LIMITS.snapshotFacts * 16;
    if (head - this.#snapshotSeq < due || this.state.agent !== this.agent.name) return; // folds are of one agent
    this.#snapshotSeq = head;
    // only of plugins that are here: the fold of an absent one would miss facts
    const folds = this.#folds.writable(this.#plugins);
    this.tellFoldFailures();
    const data: SnapshotData = { state: this.state, folds };
    const snapshot = { seq: head, version: STATE_VERSION, data: data as Json }; // folds are JSON by contract
    this.background(this.journal.append([], { snapshot }).stored);
  }

  tellFoldFailures(): void {
    for (const [{ name }, error] of this.#folds.takeFailures())
      this.notice("warning", "hook-failed", `fold of plugin ${name} failed: ${messageOf(error)}`);
  }

  #apply(fact: Fact): void {
    if (fact.seq !== this.state.head + 1)
      throw new Error(`fact ${fact.seq} after ${this.state.head}: the log was read out of order`);
    this.state = reduce(this.state, fact);
    this.#conversation?.apply(fact);
    this.#folds.add(this.#plugins, fact);
    this.tellFoldFailures();
    if (fact.type === "run.finished") this.clearHalt();
  }
}
