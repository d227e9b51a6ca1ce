/** A session on a server. Holds no state of its own. */

import {
  type Answer,
  CapstanError,
  type Envelope,
  type FollowOptions,
  type Ids,
  type Json,
  type Message,
  type Part,
  type Run,
  type Schema,
  type SendOptions,
  type Session,
  type SessionView,
  toJsonSchema,
} from "@capstan/core";
import { SERVER_LIMITS } from "../server-limits.ts";
import type { Asking, Connection } from "./connection.ts";
import { eventStream } from "./event-stream.ts";
import { RemoteRun, type RunNames } from "./remote-run.ts";

export type SessionNames = { readonly id: string; readonly agent: string; readonly key?: string };

export class RemoteSession<Output> implements Session<Output> {
  readonly id: string;
  readonly key?: string;
  readonly agent: string;
  readonly #connection: Connection;
  readonly #ids: Ids;
  readonly #path: string;

  constructor(connection: Connection, ids: Ids, { id, key, agent }: SessionNames) {
    this.#connection = connection;
    this.#ids = ids;
    this.id = id;
    this.agent = agent;
    if (key !== undefined) this.key = key;
    this.#path = `/sessions/${encodeURIComponent(id)}`;
  }

  async send<Own = Output>(
    input: string | readonly Part[],
    options: SendOptions & { readonly output?: Schema<Own> } = {},
  ): Promise<Run<Own>> {
    const { body, idempotencyKey = this.#ids.random() } = sendBody(input, options);
    // under a key it may be sent again when no answer came
    const names = await this.#post<RunNames>("/send", body, {
      headers: { "idempotency-key": idempotencyKey },
      again: true,
    });
    return new RemoteRun<Own>(this.#connection, this as unknown as Session<Own>, names, options.output);
  }

  async run(id = "latest"): Promise<Run<Output> | undefined> {
    try {
      const path = `${this.#path}/runs/${encodeURIComponent(id)}`;
      const names = await this.#connection.json<RunNames>(path, { query: { appear: 0 } });
      return new RemoteRun<Output>(this.#connection, this, names);
    } catch (error) {
      if (CapstanError.is(error, "input-invalid")) return undefined;
      throw error;
    }
  }

  async withdraw(inputId: string): Promise<void> {
    await this.#post("/withdraw", { inputId });
  }

  async respond(requestId: string, answer: Answer): Promise<void> {
    await this.#post("/respond", { requestId, answer });
  }

  async interrupt(runId?: string): Promise<void> {
    await this.#post("/interrupt", runId === undefined ? {} : { runId }, { again: true });
  }

  async update({ usage: _usage, ...change }: Parameters<Session["update"]>[0]): Promise<void> {
    await this.#connection.json(this.#path, { method: "PATCH", body: change, again: true });
  }

  events({ children = false, live = true, after, signal }: FollowOptions = {}): AsyncIterable<Envelope> {
    const path = `${this.#path}/events`;
    return eventStream(this.#connection, { path, children, live, signal, ...(after !== undefined && { after }) });
  }

  async messages({ before, limit }: { readonly before?: string; readonly limit?: number } = {}): Promise<
    readonly Message[]
  > {
    const found: Message[] = [];
    let at = before;
    for (;;) {
      const left = Math.min((limit ?? Infinity) - found.length, SERVER_LIMITS.messages);
      if (left <= 0) return found;
      const query = { before: at, limit: left };
      const { messages } = await this.#connection.json<{ readonly messages: readonly Message[] }>(
        `${this.#path}/messages`,
        { query },
      );
      found.unshift(...messages);
      at = messages[0]?.id;
      if (messages.length < left || at === undefined) return found;
    }
  }

  async state(): Promise<SessionView> {
    return (await this.#connection.json<{ readonly state: SessionView }>(this.#path)).state;
  }

  async isRunning(): Promise<boolean> {
    return (await this.#connection.json<{ readonly running: boolean }>(`${this.#path}/idle`)).running;
  }

  async waitForIdle({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const query = { waitMs: SERVER_LIMITS.waitMs };
    for (;;) {
      signal?.throwIfAborted();
      const { idle } = await this.#connection.json<{ readonly idle?: boolean }>(`${this.#path}/idle`, {
        query,
        signal,
      });
      if (idle === true) return;
    }
  }

  async fork(options: { readonly at?: number; readonly keepKey?: boolean } = {}): Promise<Session<Output>> {
    return new RemoteSession<Output>(this.#connection, this.#ids, await this.#post<SessionNames>("/fork", options));
  }

  async remove(): Promise<void> {
    await this.#connection.json(this.#path, { method: "DELETE" });
  }

  #post<T>(path: string, body: object, asking: Asking = {}): Promise<T> {
    return this.#connection.json<T>(`${this.#path}${path}`, { method: "POST", body, ...asking });
  }
}

/** What crosses to the server of an input and its options: a schema goes as JSON Schema. */
export function sendBody(
  input: string | readonly Part[],
  { idempotencyKey, output, ...options }: SendOptions & { readonly output?: Schema<unknown> },
): { readonly body: { readonly [member: string]: unknown }; readonly idempotencyKey?: string } {
  const outputSchema: Json | undefined =
    output === undefined ? undefined : toJsonSchema(output, "The output of this run");
  return {
    body: { input, ...options, ...(outputSchema !== undefined && { outputSchema }) },
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}
