/** The person and the program outside: sends inputs, answers questions, and remembers what was acknowledged. */

import { CapstanError, openRuntime, type Answer, type OpenRequest, type Runtime, storeEngine } from "@capstan/core";
import type { Engine, Fact } from "@capstan/core";
import { type Session, sleep, systemClock, systemIds } from "@capstan/core";
import { openStore } from "./open-store.ts";
import { outside, type Outside } from "./outside.ts";
import { random, type Random } from "./random.ts";
import { AGENT, type Plan, planText, scene, type ToolName } from "./scene.ts";

export type Acknowledged = {
  readonly plan: Plan;
  readonly session: string;
  readonly inputId: string;
  readonly runId: string;
  /** Who told: inputs of one door keep their order. */
  readonly by: "parent" | "worker";
};
export type Answered = { readonly requestId: string; readonly answer: Answer; readonly secondAccepted: boolean };
export type Outbox = { readonly plan: Plan; readonly session: string; acknowledged: boolean };

/** Longest wait for anything. */
const REST_MS = 40_000;
const LOOK_MS = 8;

const SESSIONS = 4;
/** Calls that plans are made of. */
const TOOLS: readonly ToolName[] = ["never", "keyed", "safe", "asks", "side", "flow"];

export type ClientOptions = {
  readonly folder: string;
  readonly durability: "full" | "relaxed";
  readonly seed: number;
  /** A person who never has anything run again, because a frozen worker may yet do it. */
  readonly careful?: boolean;
  /** Sessions that are kept busy; default 4. */
  readonly sessions?: number;
};

/** A second runtime on the same file that drives nothing. */
export class Client {
  readonly world: Outside;
  readonly acknowledged: Acknowledged[] = [];
  readonly answered: Answered[] = [];
  /** Inputs handed to workers, which may die before they acknowledge. */
  readonly outbox: Outbox[] = [];
  readonly #engine: Engine;
  readonly #runtime: Runtime;
  readonly #random: Random;
  readonly #careful: boolean;
  readonly #sessions: readonly string[];
  readonly #asked = new Set<string>();
  #plans = 0;

  static async open(options: ClientOptions): Promise<Client> {
    const { folder, durability, seed } = options;
    const store = await openStore(folder, durability);
    const engine = storeEngine(store, { clock: systemClock, ids: systemIds(() => systemClock.now()) });
    const world = outside(folder, () => systemClock.now());
    const agents = [scene({ outside: world, random: random(0), paceMs: 0 })];
    const runtime = await openRuntime({ agents, engine, work: "none" });
    return new Client(options, { engine, runtime, world, random: random(seed) });
  }

  private constructor(
    { careful = false, sessions = SESSIONS }: ClientOptions,
    parts: { readonly engine: Engine; readonly runtime: Runtime; readonly world: Outside; readonly random: Random },
  ) {
    this.#careful = careful;
    this.#sessions = Array.from({ length: sessions }, (_, number) => `k${number}`);
    this.#engine = parts.engine;
    this.#runtime = parts.runtime;
    this.world = parts.world;
    this.#random = parts.random;
  }

  /** One to three turns of one to three calls. */
  plan(): Plan {
    const calls = (): ToolName[] => Array.from({ length: this.#random.int(1, 3) }, () => this.#random.pick(TOOLS));
    this.#plans += 1;
    return { plan: `i${this.#plans}`, turns: Array.from({ length: this.#random.int(1, 3) }, calls) };
  }

  /** The parent sends by itself; its acknowledgement counts. */
  async send(key: string, plan: Plan = this.plan()): Promise<Acknowledged> {
    const session = await this.#runtime.session({ agent: AGENT, key });
    const { inputId, id: runId } = await session.send(planText(plan), { idempotencyKey: plan.plan });
    const told: Acknowledged = { plan, session: key, inputId, runId, by: "parent" };
    this.acknowledged.push(told);
    return told;
  }

  /** Gives sessions without waiting input more of it, half of it to be sent by a worker. */
  async topUp(): Promise<void> {
    const summaries = await this.#runtime.sessions();
    for (const key of this.#sessions) {
      const summary = summaries.find((found) => found.key === key);
      const busy = summary !== undefined && (summary.queued > 0 || summary.openRequests.length > 0);
      if (busy || this.outbox.some((item) => item.session === key && !item.acknowledged)) continue;
      if (this.#random.chance(0.5)) await this.send(key);
      else this.outbox.push({ plan: this.plan(), session: key, acknowledged: false });
    }
  }

  /** A worker said that it stored an input of the outbox. */
  told(idempotencyKey: string, inputId: string, runId: string): void {
    const item = this.outbox.find(({ plan }) => plan.plan === idempotencyKey);
    if (item === undefined || item.acknowledged) return;
    item.acknowledged = true;
    this.acknowledged.push({ plan: item.plan, session: item.session, inputId, runId, by: "worker" });
  }

  /** Answers what is open, some of it only at a later look; then tries a second, different answer. */
  async answerRequests(patience: number): Promise<void> {
    for (const request of await this.#runtime.requests()) {
      if (this.#asked.has(request.requestId) || this.#random.chance(patience)) continue;
      const answer = this.#answerTo(request);
      const session = await this.#runtime.session(request.sessionId);
      await session.respond(request.requestId, answer);
      this.#asked.add(request.requestId);
      const second: Answer =
        answer.type === "doubt"
          ? { type: "doubt", outcome: answer.outcome === "skip" ? "it-happened" : "skip" }
          : { type: "permission", allow: false, reason: "late" };
      const refused = await session.respond(request.requestId, second).then(
        () => false,
        (error: unknown) => CapstanError.is(error, "request-closed"),
      );
      this.answered.push({ requestId: request.requestId, answer, secondAccepted: !refused });
    }
  }

  /** A person who is asked about a doubt looks at what really happened. */
  #answerTo({ requestId, body }: OpenRequest): Answer {
    if (body.type !== "doubt") return { type: "permission", allow: !requestId.endsWith("0") };
    const id = body.tool.startsWith("call/") ? body.tool : body.callId;
    const happened = this.world.lines().some((line) => line.id === id && line.what === "effect");
    return { type: "doubt", outcome: happened ? "it-happened" : this.#careful ? "skip" : "run-again" };
  }

  session(key: string): Promise<Session> {
    return this.#runtime.session({ agent: AGENT, key });
  }

  /** Answers what is open until every acknowledged input has its end. Throws when that takes too long. */
  async untilRest(): Promise<void> {
    const from = systemClock.monotonic();
    do {
      if (systemClock.monotonic() - from > REST_MS)
        throw new Error(`not at rest: ${JSON.stringify(await this.#runtime.sessions())}`);
      await this.answerRequests(0);
      await sleep(systemClock, LOOK_MS);
    } while (this.outbox.some(({ acknowledged }) => !acknowledged) || !(await this.atRest()));
  }

  /** Looks until `found` gives something of the session's facts. */
  async untilFact<T>(key: string, found: (facts: readonly Fact[]) => T | undefined): Promise<T> {
    const from = systemClock.monotonic();
    for (;;) {
      const facts = (await this.logs()).find((log) => log.key === key)?.facts ?? [];
      const value = found(facts);
      if (value !== undefined) return value;
      if (systemClock.monotonic() - from > REST_MS) throw new Error(`not found among ${facts.length} facts of ${key}`);
      await sleep(systemClock, LOOK_MS);
    }
  }

  /** Whether every acknowledged input has its end in the log. */
  async atRest(): Promise<boolean> {
    const summaries = await this.#runtime.sessions();
    if (summaries.some(({ status, queued }) => status !== "idle" || queued > 0)) return false;
    const ended = new Set<string>();
    for (const { facts } of await this.logs())
      for (const fact of facts) if (fact.type === "run.finished") ended.add(fact.runId ?? "");
    return this.acknowledged.every(({ runId }) => ended.has(runId));
  }

  async logs(): Promise<
    readonly { readonly sessionId: string; readonly key: string; readonly facts: readonly Fact[] }[]
  > {
    const logs = [];
    for (const { sessionId, key = "" } of await this.#runtime.sessions()) {
      const facts: Fact[] = [];
      for await (const fact of this.#engine.read(sessionId)) facts.push(fact);
      logs.push({ sessionId, key, facts });
    }
    return logs;
  }

  close(): Promise<void> {
    return this.#runtime.close();
  }
}
