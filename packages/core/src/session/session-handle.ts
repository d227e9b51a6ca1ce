/** A session over an engine: ops go in, facts and events come out. Holds no state of its own. */

import type { Agent } from "../ports/agent.ts";
import { checkSendOptions, storable, toParts } from "../ports/check-input.ts";
import type { Engine, FollowOptions } from "../ports/engine.ts";
import type { SessionSummary } from "../ports/store.ts";
import { conversation, CONVERSATION_FACTS } from "../state/conversation.ts";
import type { SessionState } from "../state/session-state.ts";
import { initialState, reduce, STATE_VERSION, statusOf } from "../state/state.ts";
import { keepBytes } from "../words/blobs.ts";
import { CapstanError } from "../words/errors.ts";
import { type Envelope, type FactOf, isLive, type Overrides } from "../words/event.ts";
import type { Ids } from "../words/ids.ts";
import { hashJson, type Json } from "../words/json.ts";
import type { Message, Part } from "../words/message.ts";
import type { Accepted, Op } from "../words/op.ts";
import type { Redactor } from "../words/redact.ts";
import { ANSWERS, fits, mayAnswer, type Actor, type Answer } from "../words/request.ts";
import { jsonSchema, type Schema, toJsonSchema } from "../words/schema.ts";
import { isRunning, waitForIdle } from "./idle.ts";
import { passing } from "./passing.ts";
import { runHandle } from "./run-handle.ts";
import type { Run, SendOptions, Session, SessionView } from "./session.ts";
import { withChildren } from "./with-children.ts";

export type SessionSource = {
  readonly engine: Engine;
  readonly ids: Ids;
  readonly redactor: Redactor;
  readonly actor: Actor;
  /** Whether this process drives the session, so that waiting for an effect of an op ends. */
  readonly works: boolean;
  /** Whether an answer to this request will come from this process. */
  readonly answers: (requestId: string) => boolean;
  /** Undefined when this process does not know the agent: reading still works. */
  readonly agentOf: (name: string) => Agent<unknown> | undefined;
};

export function sessionHandle<Output>(
  source: SessionSource,
  of: { readonly id: string; readonly key?: string; readonly agent: string },
): Session<Output> {
  return new SessionHandle<Output>(source, of);
}

class SessionHandle<Output> implements Session<Output> {
  readonly id: string;
  readonly key?: string;
  readonly agent: string;
  readonly #source: SessionSource;
  /** The newest input sent through this handle. */
  #sent: Accepted | undefined;

  constructor(source: SessionSource, of: { readonly id: string; readonly key?: string; readonly agent: string }) {
    this.#source = source;
    this.id = of.id;
    this.agent = of.agent;
    if (of.key !== undefined) this.key = of.key;
  }

  async send<Own = Output>(
    input: string | readonly Part[],
    options: SendOptions & { readonly output?: Schema<Own> } = {},
  ): Promise<Run<Own>> {
    const { ifBusy = "queue", idempotencyKey, output } = options;
    checkSendOptions(options);
    const said = toParts(input);
    const overrides = toOverrides(options, output);
    const { engine } = this.#source;
    // a file that is not there would fail every later call of the model
    for (const part of said) if (part.type === "file" && part.data.type === "blob") await engine.blob(part.data.hash);
    const parts = await keepBytes(engine, said);
    const op: Op = { type: "send", sessionId: this.id, parts, ifBusy, ...(overrides !== undefined && { overrides }) };
    const key = idempotencyKey === undefined ? undefined : `send/${idempotencyKey}`;
    const accepted = await this.#submit(op, key);
    this.#sent = accepted;
    return this.#handle(accepted, output);
  }

  async run(id?: string): Promise<Run<Output> | undefined> {
    let found: FactOf<"input.accepted"> | undefined;
    for await (const fact of this.#source.engine.read(this.id, { types: ["input.accepted"] })) {
      if (fact.type === "input.accepted" && (id === undefined || fact.runId === id)) found = fact;
    }
    if (found === undefined) return undefined;
    const { inputId, runId, seq, overrides } = found;
    const own = overrides?.outputSchema; // a schema that came with the input counts before the agent's
    return this.#handle(
      { sessionId: this.id, inputId, ...(runId !== undefined && { runId }), after: seq - 1 },
      own === undefined ? undefined : (jsonSchema(own) as Schema<Output>), // whoever sent it knows the type
    );
  }

  async withdraw(inputId: string): Promise<void> {
    await this.#submit({ type: "withdraw", sessionId: this.id, inputId });
  }

  async respond(requestId: string, given: Answer): Promise<void> {
    const { engine } = this.#source;
    const answer = storable("The answer", given);
    const summary = await this.#asking(requestId);
    const sessionId = summary?.sessionId ?? this.id;
    const open = summary?.openRequests.find((request) => request.requestId === requestId);
    if (open !== undefined && !fits(open.body, answer)) {
      throw new CapstanError("request-invalid", `Request ${requestId} takes ${ANSWERS[open.body.type]}`);
    }
    if (open !== undefined && !mayAnswer(open.body, this.#source.actor)) {
      throw new CapstanError("permission-denied", `Request ${requestId} can be answered by its approvers only`);
    }
    const head = summary?.head ?? 0;
    try {
      await this.#submit({ type: "respond", sessionId, requestId, answer }, `respond/${requestId}`);
    } catch (error) {
      if (!CapstanError.is(error, "idempotency-conflict")) throw error;
      throw new CapstanError("request-closed", `Request ${requestId} was answered already`, { cause: error });
    }
    if (!this.#follows()) return;
    for await (const { event } of engine.events(sessionId, { after: String(head) })) {
      if (event.type === "run.finished") return;
      if (event.type !== "request.resolved" || event.requestId !== requestId) continue;
      // it was open when this was sent: what came in between was another answer, an interrupt, or the end of its time
      if (hashJson(event.answer as Json) === hashJson(this.#source.redactor.json(answer) as Json)) return;
      throw new CapstanError("request-closed", `Request ${requestId} was closed before this answer came`);
    }
  }

  /** The session that asks: this one, or a sub-agent below it. */
  async #asking(requestId: string, sessionId = this.id): Promise<SessionSummary | undefined> {
    const { engine } = this.#source;
    const summary = await engine.summary(sessionId);
    if (summary === undefined || summary.openRequests.some((request) => request.requestId === requestId))
      return summary;
    for (const child of await engine.list({ parent: sessionId })) {
      const found = await this.#asking(requestId, child.sessionId);
      if (found?.openRequests.some((request) => request.requestId === requestId) === true) return found;
    }
    return summary;
  }

  async interrupt(runId?: string): Promise<void> {
    const { engine } = this.#source;
    const before = await engine.summary(this.id);
    const target = runId ?? before?.runId;
    const begins = target === undefined && this.#follows() && (await this.isRunning()); // what was sent just now
    await this.#submit({ type: "interrupt", sessionId: this.id, ...(target !== undefined && { runId: target }) });
    if (!begins && (before?.runId === undefined || before.runId !== target)) return; // not active: taken back, or nothing to wait for
    for await (const { event } of engine.events(this.id, { after: String(before?.head ?? 0) })) {
      if (event.type === "run.finished" && (begins || event.runId === target)) return;
      if (event.type === "input.withdrawn" && begins) return;
    }
  }

  async update(change: Parameters<Session["update"]>[0]): Promise<void> {
    const own = storable("The update", change);
    const head = (await this.#source.engine.summary(this.id))?.head ?? 0;
    await this.#submit({ type: "update", sessionId: this.id, ...own });
    if (!this.#follows()) return;
    for await (const { event } of this.#source.engine.events(this.id, { after: String(head) })) {
      if (event.type === "session.updated") return;
    }
  }

  events({ children = false, live = true, ...options }: FollowOptions = {}): AsyncIterable<Envelope> {
    const { engine } = this.#source;
    const events = children ? withChildren(engine, this.id, options) : engine.events(this.id, options);
    return live ? events : passing(events, ({ event }) => (isLive(event) ? "skip" : "show"));
  }

  async messages({ before, limit }: { readonly before?: string; readonly limit?: number } = {}): Promise<
    readonly Message[]
  > {
    const all = conversation();
    for await (const fact of this.#source.engine.read(this.id, { types: CONVERSATION_FACTS })) {
      if (fact.type !== "context.compacted") all.apply(fact); // people see what the model no longer does
    }
    const at = before === undefined ? -1 : all.messages.findIndex((message) => message.id === before);
    if (before !== undefined && at === -1) {
      throw new CapstanError("cursor-invalid", `There is no message ${JSON.stringify(before)} in this session`);
    }
    const older = at === -1 ? all.messages : all.messages.slice(0, at);
    return older.slice(limit === undefined ? 0 : Math.max(0, older.length - Math.max(0, limit)));
  }

  async state(): Promise<SessionView> {
    const { engine } = this.#source;
    const snapshot = await engine.snapshot(this.id);
    let state =
      snapshot?.version === STATE_VERSION ? (snapshot.data as unknown as { state: SessionState }).state : undefined; // written by the loop
    for await (const fact of engine.read(this.id, { after: state?.head ?? 0 })) {
      if (state !== undefined) state = reduce(state, fact);
      else if (fact.type === "session.created") state = initialState(fact);
    }
    if (state === undefined) throw new CapstanError("session-not-found", `There is no session ${this.id}`);
    return { ...state, status: statusOf(state) };
  }

  isRunning(): Promise<boolean> {
    return isRunning({ engine: this.#source.engine, sessionId: this.id, sent: this.#sent });
  }

  waitForIdle({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return waitForIdle({ engine: this.#source.engine, sessionId: this.id, sent: this.#sent }, signal);
  }

  async fork({ at, keepKey }: { readonly at?: number; readonly keepKey?: boolean } = {}): Promise<Session<Output>> {
    const intoSessionId = this.#source.ids.next("ses");
    const op: Op = {
      type: "fork",
      sessionId: this.id,
      intoSessionId,
      ...(at !== undefined && { at }),
      ...(keepKey !== undefined && { keepKey }),
    };
    await this.#submit(op);
    const key = keepKey === true && this.key !== undefined ? { key: this.key } : {};
    return new SessionHandle(this.#source, { id: intoSessionId, agent: this.agent, ...key });
  }

  async remove(): Promise<void> {
    await this.#submit({ type: "remove", sessionId: this.id });
  }

  /** Whether the effect of an op will be seen: this process drives the session and knows its agent. */
  #follows(): boolean {
    const { works, agentOf } = this.#source;
    return works && agentOf(this.agent) !== undefined;
  }

  async #submit(op: Op, idempotencyKey?: string): Promise<Accepted> {
    const { engine, actor, ids, redactor } = this.#source;
    const plain = storable(`The ${op.type}`, op as unknown as Json);
    const clean = redactor.json(plain) as unknown as Op; // the mailbox is on disk too
    return engine.submit(clean, { idempotencyKey: idempotencyKey ?? `${op.type}/${ids.random()}`, actor });
  }

  #handle<Own = Output>(accepted: Accepted, output?: Schema<Own>): Run<Own> {
    const { engine, answers, agentOf } = this.#source;
    // the caller named the Output of this agent; one that took over has its own
    const schemaOf = (agent = this.agent): Schema<Own> | undefined =>
      output ?? (agentOf(agent)?.output as Agent<Own>["output"]);
    const session = this as unknown as Session<Own>; // its own runs are typed by their own schema
    return runHandle({ engine, session, schemaOf, answers }, accepted);
  }
}

function toOverrides(
  { model, instructions, settings, tools, limits, mode, tags, plugins }: SendOptions,
  output: Schema | undefined,
): Overrides | undefined {
  const overrides: Overrides = {
    ...(model !== undefined && { model }),
    ...(instructions !== undefined && { instructions }),
    ...(settings !== undefined && { settings: settings as unknown as Json }), // plain data
    ...(tools !== undefined && { tools }),
    ...(limits !== undefined && { limits }),
    ...(mode !== undefined && { mode }),
    ...(tags !== undefined && { tags }),
    ...(plugins !== undefined && { plugins }),
    ...(output !== undefined && { outputSchema: toJsonSchema(output, "The output of this run") }),
  };
  return Object.keys(overrides).length === 0 ? undefined : overrides;
}
