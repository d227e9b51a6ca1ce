/** All runs that are traced in this process: each has a span from its start to its end, its suspension or the end of the process. */

import { setImmediate } from "node:timers/promises";
import { type Definitions, type Envelope, type Fact, type FactOf, isLive, type SessionState } from "@capstan/core";
import { parseTraceparent, type SpanContext } from "./otel-api.ts";
import { isOfRun, type Otel, RunSpan, type RunStart } from "./run-span.ts";
import type { RequestContent } from "./span-content.ts";
import type { Scene } from "./span-facts.ts";

export const PLUGIN_NAME = "tracing";
/** The tag of an input under which its sender hands a trace on (W3C Trace Context). */
const TRACE_TAG = "traceparent";
/** How long a suspended run keeps its span: for as long as its process keeps its hold. */
const SUSPENDED_MS = 60_000;
const MAX_RUNS = 10_000;
/** Turns of the event loop that a sub-agent's first event waits for those of its parent. */
const CATCH_UP_TURNS = 100;
/** Requests of one session whose answers have not been seen. */
const MAX_ASKED = 16;
/** What a run can be heard of first, in this process. */
const BEGINS: ReadonlySet<Fact["type"]> = new Set(["run.started", "run.resumed", "turn.started", "tool.started"]);

export type Recorded = { readonly run: string; readonly traceparent: string };

export class RunSpans {
  readonly #otel: Otel;
  readonly #content: boolean;
  readonly #runtimes = new Set<Definitions>();
  /** By session: one run at a time. */
  readonly #open = new Map<string, RunSpan>();
  readonly #timers = new Map<string, () => void>();
  /** What senders handed on, by run, until it starts. */
  readonly #handed = new Map<string, SpanContext>();
  /** Requests by session, oldest first: events come later than calls. */
  readonly #asked = new Map<string, readonly RequestContent[]>();

  constructor(otel: Otel, content: boolean) {
    this.#otel = otel;
    this.#content = content;
  }

  add(runtime: Definitions): void {
    this.#runtimes.add(runtime);
  }

  /** The last one ends all spans. */
  remove(runtime: Definitions): void {
    this.#runtimes.delete(runtime);
    if (this.#runtimes.size > 0) return;
    for (const sessionId of this.#open.keys()) this.#cut(sessionId, "closed", runtime.clock.now());
    this.#handed.clear();
    this.#asked.clear();
  }

  /** What the model is about to be asked, to be shown with the end of its turn. */
  ask(sessionId: string, content: RequestContent): void {
    if (this.#runtimes.size === 0) return;
    this.#keep(this.#asked, sessionId, [...(this.#asked.get(sessionId) ?? []), content].slice(-MAX_ASKED));
  }

  /** The span of a run that is under way, opened when no event of it has come yet. Undefined where its parent is elsewhere. */
  ofRun({ sessionId, agent, parent, run }: SessionState): SpanContext | undefined {
    if (run === undefined || this.#runtimes.size === 0) return undefined;
    const open = this.#open.get(sessionId);
    if (open?.scene.runId === run.id) return open.context;
    const scene = { sessionId, agent, runId: run.id };
    const tag = run.overrides?.tags?.[TRACE_TAG];
    const above =
      parent === undefined ? parseTraceparent(tag ?? "") : this.#open.get(parent.sessionId)?.callContext(parent.callId);

    if (parent !== undefined && above === undefined) return undefined;
    return this.#start(scene, { at: run.startedAt, parent: above, before: [] }).context;
  }

  /** In order, one at a time. What it gives is waited for only where a run was begun by a process that is gone. */
  see(envelope: Envelope): Promise<void> | undefined {
    const { sessionId, agent, event } = envelope;
    if (this.#runtimes.size === 0) return undefined;
    if (isLive(event)) {
      const content = event.type === "turn.reset" ? this.#nextAsked(sessionId) : undefined;
      this.#open.get(sessionId)?.see(event, agent, content);
      return undefined;
    }
    if (event.type === "input.accepted" && event.runId !== undefined) {
      const handed = parseTraceparent(event.overrides?.tags?.[TRACE_TAG] ?? "");
      if (handed !== undefined) this.#keep(this.#handed, event.runId, handed);
      return undefined;
    }
    return isOfRun(event) && event.type !== "input.withdrawn" ? this.#seeFact(event, envelope) : undefined;
  }

  async #seeFact(event: Fact & { readonly runId: string }, { sessionId, agent }: Envelope): Promise<void> {
    const scene = { sessionId, agent, runId: event.runId };
    const run = await this.#runOf(event, scene);
    if (run === undefined) return;
    this.#timers.get(sessionId)?.();
    this.#timers.delete(sessionId);
    if (event.type === "run.finished") {
      this.#open.delete(sessionId);
      run.finish(event);
      return;
    }
    run.see(event, agent, event.type === "turn.finished" ? this.#nextAsked(sessionId) : undefined);
    if (event.type === "run.suspended") this.#watch(sessionId);
  }

  async #runOf(event: Fact, scene: Scene): Promise<RunSpan | undefined> {
    const { sessionId, runId } = scene;
    const isHere = (): RunSpan | undefined => {
      const open = this.#open.get(sessionId);
      return open?.scene.runId === runId ? open : undefined;
    };
    const open = isHere();
    if (open !== undefined) return open;
    if (!BEGINS.has(event.type)) return undefined;
    const first = event.type === "run.started" ? undefined : await this.#recorded(sessionId, runId);
    const parent = first ?? (await this.#contextAbove(sessionId)) ?? this.#handed.get(runId);
    this.#handed.delete(runId);
    if (this.#runtimes.size === 0) return undefined;
    return isHere() ?? this.#start(scene, { at: event.at, parent, before: first === undefined ? [] : [first] });
  }

  #start(scene: Scene, start: Omit<RunStart, "scene">): RunSpan {
    this.#cut(scene.sessionId, "closed", start.at); // of a run whose end nobody here heard of
    const run = new RunSpan(this.#otel, { scene, ...start }, this.#content);
    const [oldest] = this.#open.keys();
    if (this.#open.size >= MAX_RUNS && oldest !== undefined) this.#cut(oldest, "closed", start.at);
    this.#open.set(scene.sessionId, run);
    return run;
  }

  /** A process gives up what waits too long, and hears no more of it. */
  #watch(sessionId: string): void {
    const [runtime] = this.#runtimes;
    if (runtime === undefined) return;
    const { clock } = runtime;
    const fire = (): void => this.#cut(sessionId, "suspended", clock.now());
    this.#timers.set(sessionId, clock.after(SUSPENDED_MS, fire, { background: true }));
  }

  #cut(sessionId: string, why: "suspended" | "closed", at: number): void {
    this.#timers.get(sessionId)?.();
    this.#timers.delete(sessionId);
    this.#open.get(sessionId)?.cut(why, at);
    this.#open.delete(sessionId);
  }

  /** Of the call that gave a sub-agent its task; what is known of it in this process may be a few events behind. */
  async #contextAbove(sessionId: string): Promise<SpanContext | undefined> {
    const [created] = await this.#read(sessionId, ["session.created"]);
    const parent = created?.type === "session.created" ? created.parent : undefined;
    if (parent === undefined) return undefined;
    for (let turn = 0; turn < CATCH_UP_TURNS; turn++) {
      const run = this.#open.get(parent.sessionId);
      if (run === undefined) break;
      const context = run.callContext(parent.callId);
      if (context !== undefined) return context;
      await setImmediate();
    }
    return this.#open.get(parent.sessionId)?.context ?? this.#recorded(parent.sessionId, parent.runId);
  }

  async #recorded(sessionId: string, runId: string): Promise<SpanContext | undefined> {
    const facts = await this.#read(sessionId, ["data"]);
    const found = facts.findLast(
      (fact): fact is FactOf<"data"> =>
        fact.type === "data" && fact.runId === runId && fact.name === `plugin/${PLUGIN_NAME}`,
    );
    return found === undefined ? undefined : parseTraceparent((found.data as Recorded).traceparent); // written by this plugin
  }

  async #read(sessionId: string, types: readonly Fact["type"][]): Promise<readonly Fact[]> {
    for (const { engine } of [...this.#runtimes].toReversed()) {
      const facts: Fact[] = [];
      try {
        for await (const fact of engine.read(sessionId, { types })) facts.push(fact);
        return facts;
      } catch {
        continue; // a session of another runtime, or one that cannot be read: its spans stand alone
      }
    }
    return [];
  }

  #nextAsked(sessionId: string): RequestContent | undefined {
    const [first, ...rest] = this.#asked.get(sessionId) ?? [];
    if (rest.length === 0) this.#asked.delete(sessionId);
    else this.#asked.set(sessionId, rest);
    return first;
  }

  #keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
    map.delete(key);
    map.set(key, value);
    const [oldest] = map.keys();
    if (map.size > MAX_RUNS && oldest !== undefined) map.delete(oldest);
  }
}
