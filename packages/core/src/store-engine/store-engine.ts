/** An engine over any store: who drives which session, mail, timers, take-over of the dead, and the broadcast of events. */

import type { Drive, Engine, EventsOptions, WorkOptions } from "../ports/engine.ts";
import type { LogSlice, NewMail, SessionFilter, SessionSummary, Snapshot, Store } from "../ports/store.ts";
import type { Clock } from "../words/clock.ts";
import { CapstanError } from "../words/errors.ts";
import type { Envelope, Fact, FactOf } from "../words/event.ts";
import type { Ids } from "../words/ids.ts";
import { hashJson, type Json } from "../words/json.ts";
import type { Accepted, Op, OpOf } from "../words/op.ts";
import { type Actor, mayAnswer } from "../words/request.ts";
import { Channel, parseCursor } from "./broadcast.ts";
import { forkFacts } from "./fork.ts";
import { Opening } from "./opening.ts";
import { loadBlob, readAll, saveBlob } from "./store-read.ts";
import { firstSummary, summarize } from "./summary.ts";
import { Worker } from "./worker.ts";

export type StoreEngineOptions = {
  readonly clock: Clock;
  readonly ids: Ids;
  /** Default "tick": facts that nobody waits for share one write at the end of the tick. "each" is for crash tests. */
  readonly commit?: "tick" | "each";
};

/** Serves memory, SQLite and every other `Store`. Closes the store with itself. */
export function storeEngine(store: Store, options: StoreEngineOptions): Engine {
  return new StoreEngine(store, options);
}

/** A process that waits for events stays alive although all timers of the engine are in the background. */
const WATCH_MS = 2 ** 40;

class StoreEngine implements Engine {
  readonly id: string;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #worker: Worker;
  readonly #channels = new Map<string, Channel>();
  /** Sessions whose creation is under way. */
  readonly #fresh = new Map<string, { readonly head: number; readonly agent: string }>();
  #unwatch: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(store: Store, { clock, ids, commit = "tick" }: StoreEngineOptions) {
    this.id = store.id;
    this.#store = store;
    this.#clock = clock;
    this.#ids = ids;
    const channelOf = (sessionId: string, agent: string): Channel => this.#channel(sessionId, agent);
    const holdEnded = (sessionId: string): void => this.#holdEnded(sessionId);
    this.#worker = new Worker(store, { clock, ids, commit, channelOf, holdEnded });
  }

  async submit(op: Op, options: { readonly idempotencyKey: string; readonly actor: Actor }): Promise<Accepted> {
    this.#refuseWhenClosed();
    switch (op.type) {
      case "open":
        return this.#open(op, options.actor);
      case "fork":
        return this.#fork(op, options.actor);
      case "remove": {
        const { parent } = await this.#known(op.sessionId);
        const removed = await this.#remove(op.sessionId);
        if (parent !== undefined) await this.#tellOfRemoved(parent, op.sessionId);
        return removed;
      }
      case "respond":
        await this.#refuseClosedRequest(op, options.actor);
        return this.#mail(op, options);
      case "send":
      case "withdraw":
      case "interrupt":
      case "update":
        return this.#mail(op, options);
      default:
        return op satisfies never;
    }
  }

  async childFinished(sessionId: string, childSessionId: string, runId: string): Promise<void> {
    const { agent } = await this.#known(sessionId);
    const key = `child/${childSessionId}/${runId}`;
    const body = { type: "child-finished", childSessionId } as const;
    const actor = { id: childSessionId, door: "engine" };
    await this.#store.submit({ sessionId, key, digest: hashJson(key), actor, body, accepted: { sessionId } });
    this.#worker.mailFor(sessionId, agent);
  }

  events(sessionId: string, options: EventsOptions = {}): AsyncIterable<Envelope> {
    return new Opening(() => this.#subscribe(sessionId, options));
  }

  async #subscribe(sessionId: string, options: EventsOptions): Promise<AsyncIterator<Envelope>> {
    const { signal, background = false } = options;
    const summary = await this.#known(sessionId);
    const channel = this.#channel(sessionId, summary.agent);
    const after = parseCursor(options.after, summary.head);
    const read = (from: number): Promise<readonly Fact[]> => this.#store.read(sessionId, { after: from });
    const letGo = background ? undefined : this.#clock.after(WATCH_MS, () => undefined);
    const reader = channel.subscribe(after, read, () => {
      letGo?.();
      signal?.removeEventListener("abort", end);
      if (!channel.watched && !this.#worker.holds(sessionId)) this.#channels.delete(sessionId);
    });
    const end = (): void => reader.end();
    this.#watch();
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted === true) end();
    return reader;
  }

  async *read(sessionId: string, options: LogSlice = {}): AsyncIterable<Fact> {
    yield* readAll(this.#store, sessionId, options);
  }

  snapshot(sessionId: string): Promise<Snapshot | undefined> {
    return this.#store.snapshot(sessionId);
  }

  list(filter: SessionFilter): Promise<readonly SessionSummary[]> {
    return this.#store.list(filter);
  }

  summary(sessionId: string): Promise<SessionSummary | undefined> {
    return this.#store.summary(sessionId);
  }

  async work(drive: Drive, options: WorkOptions): Promise<void> {
    this.#watch();
    await this.#worker.work(drive, options);
  }

  adopt(sessionId: string, { waiting = false }: { readonly waiting?: boolean } = {}): void {
    if (waiting) this.#worker.takeWaiting(sessionId);
    else this.#worker.adopt(sessionId);
    this.#adoptBelow(sessionId).catch(() => undefined); // the store is out of order: whoever drives the parent adopts them
  }

  /** A parent that waits for its sub-agents is not driven before one of them has ended. */
  async #adoptBelow(sessionId: string): Promise<void> {
    for (const child of await this.#store.list({ parent: sessionId })) {
      if (this.#closing !== undefined) return;
      if (child.status !== "idle") this.#worker.adopt(child.sessionId);
      await this.#adoptBelow(child.sessionId);
    }
  }

  putBlob(bytes: Uint8Array): Promise<string> {
    return saveBlob(this.#store, bytes);
  }

  async blob(hash: string): Promise<Uint8Array> {
    return loadBlob(this.#store, hash);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#worker.close();
    this.#unwatch?.();
    for (const channel of this.#channels.values()) channel.end();
    await this.#store.close();
  }

  #refuseWhenClosed(): void {
    if (this.#closing !== undefined) throw new CapstanError("closed", "This engine is closed; open a new one");
  }

  async #known(sessionId: string): Promise<SessionSummary> {
    const summary = await this.#store.summary(sessionId);
    if (summary !== undefined) return summary;
    throw new CapstanError(
      "session-not-found",
      `There is no session ${JSON.stringify(sessionId)}; list them with "capstan sessions list"`,
    );
  }

  #holdEnded(sessionId: string): void {
    const channel = this.#channels.get(sessionId);
    if (channel?.watched === false) this.#channels.delete(sessionId);
    else channel?.holdEnded();
  }

  #channel(sessionId: string, agent: string): Channel {
    const known = this.#channels.get(sessionId);
    if (known !== undefined) return known;
    const channel = new Channel(sessionId, agent);
    this.#channels.set(sessionId, channel);
    return channel;
  }

  /** Facts that another process wrote reach readers through the store. */
  #watch(): void {
    this.#unwatch ??= this.#store.watch(() => {
      for (const channel of this.#channels.values()) if (!this.#worker.holds(channel.sessionId)) channel.poke();
      this.#worker.changed();
    });
  }

  async #open(op: OpOf<"open">, actor: Actor): Promise<Accepted> {
    const at = this.#clock.now();
    const { type: _type, key: sessionKey, messages = [], ...fields } = op;
    const created: FactOf<"session.created"> = {
      ...fields,
      type: "session.created",
      key: "session",
      seq: 1,
      at,
      ...(sessionKey !== undefined && { sessionKey }),
      mode: op.mode ?? "ask",
      actor,
    };
    const imported = messages.map((message, index): Fact => ({
      type: "message.added",
      key: `import/${index}`,
      seq: index + 2,
      at,
      message,
    }));
    const creating = this.#store.create({
      sessionId: op.sessionId,
      ...(sessionKey !== undefined && { key: sessionKey }),
      ...(actor.tenant !== undefined && { tenant: actor.tenant }),
      facts: [created, ...imported],
      summary: { ...firstSummary(created), head: 1 + imported.length },
    });
    // without a key nobody else can have it: its first input may be sent in the same breath, and shares the commit
    if (sessionKey === undefined) this.#fresh.set(op.sessionId, { head: 1 + imported.length, agent: op.agent });
    const { sessionId, created: fresh } = await creating.finally(() => this.#fresh.delete(op.sessionId));
    if (fresh) this.#worker.own(sessionId);
    else this.#worker.adopt(sessionId);
    return { sessionId };
  }

  async #fork(op: OpOf<"fork">, actor: Actor): Promise<Accepted> {
    const source = await this.#known(op.sessionId);
    if (op.at !== undefined && (op.at < 1 || op.at > source.head)) {
      throw new CapstanError(
        "cursor-invalid",
        `There is no fact ${op.at} in this session: fork at 1 to ${source.head}`,
      );
    }
    const facts: Fact[] = [];
    for await (const fact of this.read(op.sessionId)) {
      if (fact.seq > (op.at ?? source.head)) break;
      facts.push(fact);
    }
    const copy = forkFacts(facts, { into: op.intoSessionId, actor, now: this.#clock.now() });
    const created = copy[0] as FactOf<"session.created">; // forkFacts puts it first
    await this.#store.create({
      sessionId: op.intoSessionId,
      ...(actor.tenant !== undefined && { tenant: actor.tenant }),
      facts: copy,
      copyOf: op.sessionId,
      summary: {
        ...copy.slice(1).reduce(summarize, firstSummary(created)),
        head: copy.length,
        queued: 0,
        status: "idle",
      },
    });
    if (op.keepKey === true) await this.#store.moveKey(op.sessionId, op.intoSessionId);
    this.#worker.own(op.intoSessionId);
    return { sessionId: op.intoSessionId };
  }

  async #remove(sessionId: string): Promise<Accepted> {
    await this.#known(sessionId);
    for (const child of await this.#store.list({ parent: sessionId })) await this.#remove(child.sessionId);
    await this.#worker.drop(sessionId);
    await this.#store.remove(sessionId);
    this.#channels.get(sessionId)?.end();
    this.#channels.delete(sessionId);
    // those that it started while the others were removed
    for (const child of await this.#store.list({ parent: sessionId })) await this.#remove(child.sessionId);
    return { sessionId };
  }

  /** A parent may wait for what is no more. */
  async #tellOfRemoved(parent: string, sessionId: string): Promise<void> {
    try {
      await this.childFinished(parent, sessionId, "removed");
    } catch (error) {
      if (!CapstanError.is(error, "session-not-found")) throw error;
    }
  }

  async #refuseClosedRequest(op: OpOf<"respond">, actor: Actor): Promise<void> {
    const { openRequests } = await this.#known(op.sessionId);
    const now = this.#worker.timeOf(op.sessionId);
    const open = openRequests.find(({ requestId, expiresAt }) => requestId === op.requestId && expiresAt > now);
    // not in the mailbox either: under the key of the answer it would stand in the way of who may
    if (open !== undefined && !mayAnswer(open.body, actor))
      throw new CapstanError("permission-denied", `Request ${op.requestId} can be answered by its approvers only`);
    if (open !== undefined) return;
    throw new CapstanError(
      "request-closed",
      `Request ${op.requestId} is not open: it was answered, expired, or never asked`,
    );
  }

  async #mail(
    op: Exclude<Op, { type: "open" | "fork" | "remove" }>,
    { idempotencyKey, actor }: { readonly idempotencyKey: string; readonly actor: Actor },
  ): Promise<Accepted> {
    const { sessionId } = op;
    const { head, agent } = this.#fresh.get(sessionId) ?? (await this.#known(sessionId));
    const accepted: Accepted =
      op.type === "send"
        ? { sessionId, inputId: this.#ids.next("in"), runId: this.#ids.next("run"), after: head }
        : { sessionId };
    const mail: NewMail = {
      sessionId,
      key: idempotencyKey,
      digest: hashJson(withoutMode(op) as unknown as Json), // an op is plain data
      actor,
      body: { type: "op", op, accepted },
      accepted,
      ...(op.type === "send" && op.ifBusy === "reject" && { ifIdle: true }),
    };
    const stored = await this.#store.submit(mail);
    this.#worker.mailFor(sessionId, agent);
    return stored;
  }
}

/** The same job may be sent once where a person can be asked and once where none can: its mode says nothing about what it is. */
function withoutMode(op: Op): Op {
  if (op.type !== "send" || op.overrides?.mode === undefined) return op;
  const { overrides, ...rest } = op;
  const { mode: _mode, ...others } = overrides;
  return Object.keys(others).length === 0 ? rest : { ...rest, overrides: others };
}
