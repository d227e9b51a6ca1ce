/** The NDJSON door: requests in, lines out, many at a time. What belongs to a request carries its id. */

import {
  type Clock,
  CapstanError,
  cursorOf,
  type Envelope,
  type Run,
  type RunResult,
  type Session,
} from "@capstan/core";
import { isShown, type ParsedRequest, type StdioId, stdioLines, type StdioRequest } from "@capstan/wire";
import { problemOf } from "../http/errors.ts";
import { SERVER_LIMITS } from "../server-limits.ts";
import { Conversations, type ConversationOptions, shownSession, shownSummary } from "./conversations.ts";
import type { LineWriter } from "./line-writer.ts";

export type StdioDoorOptions = ConversationOptions & {
  readonly writer: LineWriter;
  readonly clock: Clock;
  /** One line for people: it goes to stderr. */
  readonly log: (line: string) => void;
};

type Id = StdioId | undefined;
/** What a request leads to: data for its last line, or something to follow before that. */
type Outcome = { readonly data?: object } | { readonly follow: () => Promise<object> };

export const STDIO_PROTOCOL = 2;

export class StdioDoor {
  readonly #options: StdioDoorOptions;
  readonly #conversations: Conversations;
  readonly #working = new Set<Promise<void>>();
  readonly #subscriptions = new Map<StdioId, AbortController>();
  /** Requests that change which conversation is meant come into effect in the order of their lines. */
  #order: Promise<unknown> = Promise.resolve();
  #lasting = 0;
  #protocol = 1;
  readonly #noMore = new AbortController();
  readonly #stop = new AbortController();

  constructor(options: StdioDoorOptions) {
    this.#options = options;
    this.#conversations = new Conversations(options);
    options.writer.closed.addEventListener("abort", () => this.#stop.abort(options.writer.closed.reason), {
      once: true,
    });
  }

  /** Resolves at once, unless too many requests are under way. Never throws. */
  async take({ id, ...parsed }: ParsedRequest): Promise<void> {
    const work = "request" in parsed ? this.#perform(id, parsed.request) : this.#fail(id, parsed.error);
    const ended = work.catch(() => undefined).finally(() => this.#working.delete(ended)); // nobody reads any more
    this.#working.add(ended);
    while (this.#working.size >= SERVER_LIMITS.stdioRequests * 4 && !this.#stop.signal.aborted)
      await Promise.race(this.#working);
  }

  /** Nothing more will be asked: resolves when what is under way has ended, or waits for an answer that cannot come. */
  async end(): Promise<void> {
    this.#noMore.abort();
    for (const subscription of this.#subscriptions.values()) subscription.abort();
    await Promise.all(this.#working);
  }

  /** Leaves what is followed. Runs go on where they are. */
  stop(): void {
    this.#stop.abort(new CapstanError("closed", "The door was closed"));
  }

  /** What may last is counted from its line on: if it took every place, nothing could end it any more. */
  async #perform(id: Id, request: StdioRequest): Promise<void> {
    const lasts = request.kind === "user_message" || request.kind === "subscribe";
    if (lasts && this.#lasting >= SERVER_LIMITS.stdioRequests) return this.#fail(id, tooMany());
    if (lasts) this.#lasting += 1;
    try {
      const outcome = await this.#accept(id, request);
      const data = "follow" in outcome ? await outcome.follow() : { data: outcome.data };
      await this.#write(id, { type: "done", ...data });
    } catch (error) {
      await this.#fail(id, error);
    } finally {
      if (lasts) this.#lasting -= 1;
    }
  }

  async #accept(id: Id, request: StdioRequest): Promise<Outcome> {
    const before = this.#order;
    switch (request.kind) {
      case "interrupt":
      case "respond":
      case "list_requests":
      case "list_conversations":
      case "subscribe":
      case "unsubscribe":
        await before; // what was asked earlier counts
        return this.#aside(id, request);
      default: {
        const accepted = before.then(() => this.#inOrder(id, request));
        this.#order = accepted.catch(() => undefined); // it is told by its own request
        return accepted;
      }
    }
  }

  async #inOrder(
    id: Id,
    request: Exclude<StdioRequest, { kind: "interrupt" | "respond" | "subscribe" | "unsubscribe" | `list_${string}` }>,
  ): Promise<Outcome> {
    const conversations = this.#conversations;
    switch (request.kind) {
      case "hello":
        this.#protocol = Math.min(request.protocol, STDIO_PROTOCOL);
        return { data: { protocol: this.#protocol } };
      case "user_message":
        return this.#say(id, request);
      case "new_conversation":
        return { data: { conversation: shownSession(await conversations.open(request)) } };
      case "clear_history":
        conversations.current = undefined; // the next message begins another one; this one stays in the list
        return {};
      case "load_conversation": {
        const session = await conversations.of(request.conversationId);
        conversations.current = session;
        const [messages, { title, mode, status, head }] = await Promise.all([
          session.messages({ limit: request.limit }),
          session.state(),
        ]);
        return {
          data: { conversation: { ...shownSession(session), title, mode, status }, messages, cursor: String(head) },
        };
      }
      case "delete_conversation":
        await conversations.remove(request.conversationId);
        return {};
      case "rename_conversation":
        await (await conversations.of(request.conversationId)).update({ title: request.title });
        return {};
      case "fork_conversation": {
        const session = await conversations.of(request.conversationId);
        conversations.current = await session.fork(request.at === undefined ? {} : { at: request.at });
        return { data: { conversation: shownSession(conversations.current) } };
      }
      case "set_mode":
        await (await conversations.of(request.conversationId)).update({ mode: request.mode });
        return {};
      default:
        return request satisfies never;
    }
  }

  async #aside(
    id: Id,
    request: Extract<StdioRequest, { kind: "interrupt" | "respond" | "subscribe" | "unsubscribe" | `list_${string}` }>,
  ): Promise<Outcome> {
    const { runtime } = this.#options;
    switch (request.kind) {
      case "interrupt":
        await (await this.#conversations.of(request.conversationId)).interrupt();
        return {};
      case "respond": {
        const open = (await runtime.requests()).find(({ requestId }) => requestId === request.requestId);
        const session = await this.#conversations.of(request.conversationId ?? open?.sessionId);
        await session.respond(request.requestId, request.answer);
        return {};
      }
      case "list_requests":
        return { data: { requests: await runtime.requests({ limit: SERVER_LIMITS.mostListed }) } };
      case "list_conversations": {
        const { limit, before } = request;
        const sessions = await runtime.sessions({ limit, ...(before !== undefined && { before }) });
        return { data: { conversations: sessions.filter(({ parent }) => parent === undefined).map(shownSummary) } };
      }
      case "subscribe":
        return this.#subscribe(id, request);
      case "unsubscribe": {
        const subscription = this.#subscriptions.get(request.subscription);
        subscription?.abort();
        return { data: { found: subscription !== undefined } };
      }
      default:
        return request satisfies never;
    }
  }

  async #say(id: Id, request: Extract<StdioRequest, { kind: "user_message" }>): Promise<Outcome> {
    const { message, images, ifBusy, idempotencyKey } = request;
    const session = await this.#conversations.forMessage(request.conversationId, request.agent, message);
    const said = message === "" ? [] : [{ type: "text", text: message } as const];
    const run = await session.send([...said, ...images], {
      ifBusy,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    });
    return { follow: () => this.#followRun(id, session, run) };
  }

  /** To its end; once nothing more will be asked, to where it waits for an answer. */
  async #followRun(id: Id, session: Session, run: Run): Promise<object> {
    const left = new AbortController();
    const signal = AbortSignal.any([left.signal, this.#stop.signal]);
    let waiting: RunResult | undefined;
    const look = (): void =>
      void run.result().then(
        (result) => {
          if (result.status === "waiting") waiting = result;
          if (result.status === "waiting") left.abort();
        },
        () => left.abort(),
      );
    this.#noMore.signal.addEventListener("abort", look, { once: true });
    if (this.#noMore.signal.aborted) look();
    let finished: object | undefined;
    try {
      const lines = this.#lines();
      for await (const envelope of run.events({ children: true, signal })) {
        for (const line of lines(envelope)) await this.#write(id, line);
        const { event, parent } = envelope;
        if (parent !== undefined || event.type !== "run.finished") continue;
        const { reason, usage, turns, error } = event;
        if (reason === "error") throw new RunFailed(error?.message ?? "The run failed", error?.code ?? "run-failed");
        finished = { reason, usage, turns, ...(reason === "interrupted" && { interrupted: true }) };
      }
    } finally {
      this.#noMore.signal.removeEventListener("abort", look);
    }
    const names = { conversation_id: session.id, run_id: run.id };
    if (waiting !== undefined) return { data: names, waiting: true, requests: waiting.requests };
    if (finished === undefined) return { data: names, interrupted: true }; // taken back, or removed
    return { ...finished, data: names };
  }

  async #subscribe(id: Id, request: Extract<StdioRequest, { kind: "subscribe" }>): Promise<Outcome> {
    if (id === undefined) throw new CapstanError("input-invalid", "A subscription needs an id");
    if (this.#subscriptions.has(id)) throw new CapstanError("input-invalid", "There is a subscription of this id");
    const stop = new AbortController();
    this.#subscriptions.set(id, stop); // before anything is waited for: an id is given once
    if (this.#noMore.signal.aborted) stop.abort();
    const signal = AbortSignal.any([stop.signal, this.#stop.signal]);
    const { conversationId, cursor: after, children } = request;
    const session = await this.#conversations.of(conversationId).catch((error: unknown) => {
      this.#subscriptions.delete(id);
      throw error;
    });
    const follow = async (): Promise<object> => {
      try {
        const lines = this.#lines();
        for await (const envelope of session.events({ children, signal, ...(after !== undefined && { after }) }))
          for (const line of lines(envelope)) await this.#write(id, line);
        return {};
      } finally {
        this.#subscriptions.delete(id);
      }
    };
    return { follow };
  }

  /** By the protocol that was agreed on when it began. */
  #lines(): (envelope: Envelope) => readonly object[] {
    if (this.#protocol < 2) {
      const lines = stdioLines();
      return (envelope) => lines.push(envelope);
    }
    return (envelope) => {
      if (!isShown(envelope.event)) return [];
      const cursor = envelope.parent === undefined ? { cursor: cursorOf(envelope.event) } : {};
      return [{ type: "event", ...cursor, event: envelope }];
    };
  }

  async #fail(id: Id, error: unknown): Promise<void> {
    const problem = error instanceof RunFailed ? { code: error.code, message: error.message } : problemOf(error);
    if (!(error instanceof RunFailed) && !CapstanError.is(error)) this.#options.log(String(error));
    await this.#write(id, { type: "error", error: problem.message, code: problem.code });
  }

  #write(id: Id, line: object): Promise<void> {
    const { writer, clock } = this.#options;
    return writer.write({ ...line, ...(id !== undefined && { id }), timestamp: clock.now() });
  }
}

function tooMany(): CapstanError {
  return new CapstanError("limit-reached", "Too many requests are under way; wait for one to end", { retryable: true });
}

/** The run's own error; its code may be one that no `CapstanError` has. */
class RunFailed extends Error {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}
