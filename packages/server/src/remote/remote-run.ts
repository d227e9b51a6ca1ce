/** A run on a server: its events, its text as it comes, and its result. */

import {
  CapstanError,
  check,
  type Envelope,
  failure,
  type Run,
  type RunResult,
  type Schema,
  type Session,
} from "@capstan/core";
import { screen } from "@capstan/wire";
import { SERVER_LIMITS } from "../server-limits.ts";
import type { Connection } from "./connection.ts";
import { eventStream } from "./event-stream.ts";

export type RunNames = { readonly runId: string; readonly inputId: string };

export class RemoteRun<Output> implements Run<Output> {
  id: string;
  readonly inputId: string;
  readonly session: Session<Output>;
  readonly #connection: Connection;
  readonly #path: string;
  readonly #schema: Schema<Output> | undefined;

  /** `schema`: what came with the input; that of the agent is the server's to check. */
  constructor(connection: Connection, session: Session<Output>, names: RunNames, schema?: Schema<Output>) {
    this.#connection = connection;
    this.session = session;
    this.id = names.runId;
    this.inputId = names.inputId;
    this.#path = `/sessions/${encodeURIComponent(session.id)}/runs/${encodeURIComponent(names.runId)}`;
    this.#schema = schema;
  }

  async *events(
    options: { readonly signal?: AbortSignal; readonly children?: boolean; readonly live?: boolean } = {},
  ): AsyncGenerator<Envelope> {
    const { signal, children = false, live = true } = options;
    const path = `${this.#path}/events`;
    for await (const envelope of eventStream(this.#connection, { path, children, live, signal })) {
      const { event, parent } = envelope;
      // a steer is part of the run that took it
      if (parent === undefined && event.type === "message.added" && event.inputId === this.inputId)
        this.id = event.runId ?? this.id;
      yield envelope;
    }
  }

  /** Also of a run that was faster than the connection: what was not seen live comes from its messages. */
  async *deltas(): AsyncGenerator<{ readonly text: string; readonly reset: boolean }> {
    const own = screen();
    for await (const { event } of this.events()) {
      for (const shown of own.push(event)) {
        if (shown.type === "turn-reset") yield { text: "", reset: true };
        if (shown.type === "block-delta" && shown.block.kind === "text") yield { text: shown.delta, reset: false };
      }
    }
  }

  async result(): Promise<RunResult<Output>> {
    for (;;) {
      const query = { waitMs: SERVER_LIMITS.waitMs };
      const { runId, ...found } = await this.#connection.json<RunNames & { readonly status: string }>(this.#path, {
        query,
      });
      if (found.status === "running") continue;
      this.id = runId;
      const { inputId: _inputId, ...result } = found as RunNames & RunResult<Output>; // our own door
      return this.#schema === undefined || result.output === undefined ? result : this.#checked(this.#schema, result);
    }
  }

  async text(): Promise<string> {
    const result = await this.result();
    if (result.reason === "end-turn") return result.text;
    throw failure(result);
  }

  async output(): Promise<Output> {
    const result = await this.result();
    if (result.reason !== "end-turn") throw failure(result);
    if (result.output !== undefined) return result.output;
    throw new CapstanError("output-invalid", "The model's answer does not fit the output schema");
  }

  async #checked(schema: Schema<Output>, { output, ...result }: RunResult<Output>): Promise<RunResult<Output>> {
    const checked = await check(schema, output);
    return checked.ok ? { ...result, output: checked.value } : result;
  }
}
