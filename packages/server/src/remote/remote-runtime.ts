/** The runtime of a server, as if it were here: what programs do with a `Runtime` they do with this. */

import {
  type Agent,
  CapstanError,
  type Clock,
  type Ids,
  type OpenRequest,
  type OpenSession,
  type Part,
  type Run,
  type Runtime,
  type Schema,
  type SendOptions,
  type Session,
  type SessionFilter,
  type SessionSummary,
  systemClock,
  systemIds,
} from "@capstan/core";
import { SERVER_LIMITS } from "../server-limits.ts";
import { type Connection, connection } from "./connection.ts";
import { RemoteRun, type RunNames } from "./remote-run.ts";
import { RemoteSession, sendBody, type SessionNames } from "./remote-session.ts";

export type RemoteOptions = {
  /** Sent as a bearer token; a function is asked for each request. */
  readonly token?: string | (() => string | Promise<string>);
  readonly fetch?: typeof fetch;
  readonly clock?: Clock;
};

/** `url` is where the routes of the server's `httpHandler` begin. Nothing is sent before it is used. */
export function remoteRuntime(url: string, options: RemoteOptions = {}): Runtime {
  return new RemoteRuntime(url, options);
}

class RemoteRuntime implements Runtime {
  readonly #connection: Connection;
  readonly #ids: Ids;
  readonly #closed = new AbortController();

  constructor(url: string, { token, fetch, clock = systemClock }: RemoteOptions) {
    this.#ids = systemIds(() => clock.now());
    this.#connection = connection({
      url,
      clock,
      signal: this.#closed.signal,
      ...(token !== undefined && { token }),
      ...(fetch !== undefined && { fetch }),
    });
  }

  async send<Output>(
    agent: Agent<Output> | string,
    input: string | readonly Part[],
    options: SendOptions & { readonly output?: Schema<Output> } & Omit<OpenSession<Output>, "agent"> = {},
  ): Promise<Run<Output>> {
    const { body, idempotencyKey } = sendBody(input, options);
    const names = await this.#connection.json<RunNames & { readonly sessionId: string; readonly agent: string }>(
      "/send",
      {
        method: "POST",
        body: { ...body, agent: nameOf(agent) },
        // without a key of the caller's it would make a second session
        again: idempotencyKey !== undefined,
        headers: idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
      },
    );
    const session = this.#session<Output>({
      id: names.sessionId,
      agent: names.agent,
      ...(options.key !== undefined && { key: options.key }),
    });
    return new RemoteRun<Output>(this.#connection, session, names, options.output);
  }

  async session<Output>(idOrOptions: string | OpenSession<Output>): Promise<Session<Output>> {
    if (typeof idOrOptions === "string")
      return this.#session(await this.#connection.json<SessionNames>(`/sessions/${encodeURIComponent(idOrOptions)}`));
    const { agent, ...opening } = idOrOptions;
    const again = opening.key !== undefined;
    const body = { ...opening, agent: nameOf(agent) };
    return this.#session(await this.#connection.json<SessionNames>("/sessions", { method: "POST", body, again }));
  }

  async sessions(filter: SessionFilter = {}): Promise<readonly SessionSummary[]> {
    const found: SessionSummary[] = [];
    let { before } = filter;
    for (;;) {
      const limit = Math.min((filter.limit ?? Infinity) - found.length, SERVER_LIMITS.mostListed);
      if (limit <= 0) return found;
      const { tenant: _tenant, ...rest } = filter; // whose they are is what the token says
      const query = { ...rest, before, limit };
      const { sessions } = await this.#connection.json<{ readonly sessions: readonly SessionSummary[] }>("/sessions", {
        query,
      });
      found.push(...sessions);
      before = sessions.at(-1)?.sessionId;
      if (sessions.length < limit || before === undefined) return found;
    }
  }

  async requests(filter: SessionFilter = {}): Promise<readonly OpenRequest[]> {
    return (await this.sessions(filter)).flatMap((session) => session.openRequests);
  }

  as(): Runtime {
    throw new CapstanError("usage", "Who you are to a server is what your token says; open another with another token");
  }

  /** Ends what is read and refuses what comes. Runs go on where they are. */
  close(): Promise<void> {
    this.#closed.abort(new CapstanError("closed", "This runtime was closed; open another one"));
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #session<Output>(names: SessionNames): Session<Output> {
    return new RemoteSession<Output>(this.#connection, this.#ids, names);
  }
}

function nameOf(agent: Agent<unknown> | string): string {
  return typeof agent === "string" ? agent : agent.name;
}
