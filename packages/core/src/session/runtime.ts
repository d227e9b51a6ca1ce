/** A runtime: agents by name on one engine. What a program opens first and closes last. */

import type { Agent } from "../ports/agent.ts";
import { checkSendOptions, storable, toParts } from "../ports/check-input.ts";
import type { SessionFilter, SessionSummary } from "../ports/store.ts";
import { systemClock } from "../words/clock.ts";
import { CapstanError } from "../words/errors.ts";
import type { Metadata, WorkspaceRef } from "../words/event.ts";
import { systemIds } from "../words/ids.ts";
import type { Json } from "../words/json.ts";
import type { Message, Part } from "../words/message.ts";
import type { Op } from "../words/op.ts";
import type { Actor, OpenRequest } from "../words/request.ts";
import type { Schema } from "../words/schema.ts";
import { checkImported } from "./imported.ts";
import { Registry } from "./registry.ts";
import type { RuntimeOptions } from "./runtime-options.ts";
import { sessionHandle, type SessionSource } from "./session-handle.ts";
import type { Run, SendOptions, SendOptionsOf, Session } from "./session.ts";

export type OpenSession<Output> = {
  readonly agent: Agent<Output> | string;
  /** Open or create: unique in the tenant. */
  readonly key?: string;
  /** A folder, taken as `{ kind: "local" }`. */
  readonly workspace?: string | WorkspaceRef;
  readonly title?: string;
  readonly metadata?: Metadata;
  readonly mode?: string;
  /** A conversation that was had elsewhere. Throws `input-invalid` for one that no model would take. */
  readonly messages?: readonly Message[];
};

export interface Runtime extends AsyncDisposable {
  /** One input to a new session, or to the one that `key` names. Resolves when the input is durable. */
  send<Output = string>(
    agent: Agent<Output> | string,
    input: string | readonly Part[],
    options?: SendOptions & Omit<OpenSession<Output>, "agent">,
  ): Promise<Run<Output>>;
  send<Output>(
    agent: Agent<unknown> | string,
    input: string | readonly Part[],
    options: SendOptionsOf<Output> & Omit<OpenSession<unknown>, "agent">,
  ): Promise<Run<Output>>;
  /** An existing session by id (`session-not-found`), or one opened or created by options. */
  session<Output = string>(idOrOptions: string | OpenSession<Output>): Promise<Session<Output>>;
  /** Newest first. */
  sessions(filter?: SessionFilter): Promise<readonly SessionSummary[]>;
  /** Every open question of every session. */
  requests(filter?: SessionFilter): Promise<readonly OpenRequest[]>;
  /** The same runtime for somebody: sees that tenant only; stamped on inputs and answers. */
  as(actor: Actor): Runtime;
  /** Drains for `graceMs` (default 5,000), then stops. Cancels nothing: what is unfinished goes on at the next open. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const CLOSE_GRACE_MS = 5_000;

/** Opens a runtime and, unless `work` is "none", starts to drive sessions. Throws for agents that could not run. */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const clock = options.host?.clock ?? systemClock;
  const ids = options.host?.ids ?? systemIds(() => clock.now());
  const registry = await Registry.open(options, clock, ids);
  return new RuntimeView(registry, { id: "local", door: "library" });
}

/** One open of a registry that others may share: it is given back once, by whichever view closes first. */
type Use = { closing: Promise<void> | undefined };

class RuntimeView implements Runtime {
  readonly #registry: Registry;
  readonly #actor: Actor;
  readonly #use: Use;

  constructor(registry: Registry, actor: Actor, use: Use = { closing: undefined }) {
    this.#registry = registry;
    this.#actor = actor;
    this.#use = use;
  }

  async send<Output>(
    agent: Agent<Output> | string,
    input: string | readonly Part[],
    options: SendOptions & { readonly output?: Schema<Output> } & Omit<OpenSession<Output>, "agent"> = {},
  ): Promise<Run<Output>> {
    const { key, workspace, title, metadata, messages, ...sending } = options;
    const parts = toParts(input); // a wrong input leaves no session behind
    checkSendOptions(sending);
    // an idempotency key without a session key names the session too: the same call gives the same run
    const named = key ?? (sending.idempotencyKey === undefined ? undefined : `send/${sending.idempotencyKey}`);
    const opening: OpenSession<Output> = {
      agent,
      ...(named !== undefined && { key: named }),
      ...(workspace !== undefined && { workspace }),
      ...(title !== undefined && { title }),
      ...(metadata !== undefined && { metadata }),
      ...(messages !== undefined && { messages }),
      ...(sending.mode !== undefined && { mode: sending.mode }),
    };
    if (named !== undefined) {
      const session = await this.session<Output>(opening);
      if (key === undefined) await this.#refuseOther(session.id, typeof agent === "string" ? agent : agent.name);
      return session.send(parts, sending);
    }
    const { id, opened } = await this.#open(opening);
    const session = sessionHandle<Output>(this.#source(), {
      id,
      agent: typeof agent === "string" ? agent : agent.name,
    });
    const [run] = await Promise.all([session.send(parts, sending), opened]); // one commit for both
    return run;
  }

  async session<Output>(idOrOptions: string | OpenSession<Output>): Promise<Session<Output>> {
    const { engine } = this.#registry;
    const id = typeof idOrOptions === "string" ? idOrOptions : await (await this.#open(idOrOptions)).opened;
    const summary = await engine.summary(id);
    if (summary === undefined || (this.#actor.tenant !== undefined && summary.tenant !== this.#actor.tenant)) {
      throw new CapstanError("session-not-found", `There is no session ${JSON.stringify(id)}`);
    }
    // who can answer here takes up what waits for an answer, also after the process that asked is gone
    const waiting = summary.status === "waiting" && this.#registry.onRequest !== undefined;
    if (this.#registry.works !== "none") engine.adopt(id, { waiting });
    return sessionHandle(this.#source(), {
      id,
      agent: summary.agent,
      ...(summary.key !== undefined && { key: summary.key }),
    });
  }

  sessions(filter: SessionFilter = {}): Promise<readonly SessionSummary[]> {
    const { tenant } = this.#actor;
    return this.#registry.engine.list({ ...filter, ...(tenant !== undefined && { tenant }) });
  }

  async requests(filter: SessionFilter = {}): Promise<readonly OpenRequest[]> {
    const sessions = await this.sessions(filter);
    return sessions.flatMap((session) => session.openRequests);
  }

  as(actor: Actor): Runtime {
    return new RuntimeView(this.#registry, actor, this.#use);
  }

  close({ graceMs = CLOSE_GRACE_MS }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#use.closing ??= this.#registry.close(graceMs);
    return this.#use.closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** `opened` gives the id of the session that is there afterwards: another one when `key` names it. */
  async #open<Output>(
    options: OpenSession<Output>,
  ): Promise<{ readonly id: string; readonly opened: Promise<string> }> {
    const { engine, ids, permission, redactor } = this.#registry;
    const { agent: named, workspace, mode, ...rest } = options;
    checkImported(rest.messages ?? []);
    const agent = this.#registry.agent(typeof named === "string" ? named : named.name);
    const place = typeof workspace === "string" ? { kind: "local", root: workspace } : workspace;
    // a missing folder is said now, and what is stored is its real path
    const root = place === undefined ? undefined : (await this.#registry.workspace(place)).root;
    const id = ids.next("ses");
    const op: Op = {
      type: "open",
      sessionId: id,
      agent: agent.name,
      ...(redactor.json(storable("The session", rest) as unknown as Json) as typeof rest), // plain data
      mode: mode ?? permission.mode ?? agent.permission.mode ?? "ask",
      ...(place !== undefined && root !== undefined && { workspace: { kind: place.kind, root } }),
    };
    const opened = engine.submit(op, { idempotencyKey: ids.random(), actor: this.#actor });
    return { id, opened: opened.then(({ sessionId }) => sessionId) };
  }

  /** The same key for another agent is another request. */
  async #refuseOther(sessionId: string, agent: string): Promise<void> {
    for await (const fact of this.#registry.engine.read(sessionId, { types: ["session.created"] })) {
      if (fact.type !== "session.created" || fact.agent === agent) return;
      const message = `The idempotency key was used for the agent ${JSON.stringify(fact.agent)}; use a new key`;
      throw new CapstanError("idempotency-conflict", message);
    }
  }

  #source(): SessionSource {
    const { engine, ids, redactor, works } = this.#registry;
    return {
      engine,
      ids,
      redactor,
      actor: this.#actor,
      works: works !== "none",
      answers: (requestId) => this.#registry.answers(requestId),
      agentOf: (name) => this.#registry.find(name),
    };
  }
}
