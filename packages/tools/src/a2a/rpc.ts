/** A2A over JSON-RPC and HTTP, versions 0.3 and 1.0: the operations that a client of one agent needs. */

import { type Json, systemClock } from "@capstan/core";
import type { z } from "zod";
import { cardUrl, type Endpoint, endpointOf } from "./agent-card.ts";
import { eventData } from "./event-stream.ts";
import { chunksOf, type HttpReply, jsonOf, RemoteFailure, send } from "./http.ts";
import { A2A_LIMITS as LIMITS } from "./limits.ts";
import { eventSchema, type RemoteEvent, type RemoteTask, taskSchema } from "./wire.ts";

export type Headers = { readonly [name: string]: string };
export type Connection = {
  readonly address: URL;
  readonly headers: () => Headers | Promise<Headers>;
  readonly allowPrivate: boolean;
};
export type OutgoingMessage = {
  /** The same for every try of the same message. */
  readonly messageId: string;
  readonly text: string;
  readonly data?: Json;
  /** The task that it goes on with. */
  readonly taskId?: string;
  readonly contextId?: string;
};

type Method = "send" | "stream" | "get" | "cancel" | "subscribe";
const METHODS: { readonly [Version in Endpoint["version"]]: { readonly [M in Method]: string } } = {
  "0.3": {
    send: "message/send",
    stream: "message/stream",
    get: "tasks/get",
    cancel: "tasks/cancel",
    subscribe: "tasks/resubscribe",
  },
  "1.0": {
    send: "SendMessage",
    stream: "SendStreamingMessage",
    get: "GetTask",
    cancel: "CancelTask",
    subscribe: "SubscribeToTask",
  },
};

/** Reads the card. Throws `RemoteFailure`, as everything here does, and the signal's reason on abort. */
export async function readEndpoint(connection: Connection, signal: AbortSignal): Promise<Endpoint> {
  const url = cardUrl(connection.address);
  const timed = withTimeout(signal, LIMITS.cardTimeoutMs, url);
  try {
    const headers = { ...(await connection.headers()), accept: "application/json" };
    const { allowPrivate } = connection;
    const common = { url, allowPrivate, idleMs: LIMITS.cardTimeoutMs, signal: timed.signal };
    const reply = await send({ ...common, method: "GET", headers });
    const card = await jsonOf(okOrThrow(reply, url), { url, signal: timed.signal, maxBytes: LIMITS.cardBytes });
    return endpointOf(card, url);
  } finally {
    timed.end();
  }
}

/** One agent at one endpoint. Holds no connection. */
export class RemoteClient {
  readonly #connection: Connection;
  readonly #endpoint: Endpoint;
  readonly #url: URL;

  constructor(connection: Connection, endpoint: Endpoint) {
    this.#connection = connection;
    this.#endpoint = endpoint;
    this.#url = new URL(endpoint.url);
  }

  /** Answers as soon as the agent has taken the message up, where it can. */
  send(message: OutgoingMessage, signal: AbortSignal): Promise<RemoteEvent> {
    const configuration = this.#endpoint.version === "1.0" ? { returnImmediately: true } : { blocking: false };
    const params = { message: this.#message(message), configuration };
    return this.#call("send", params, eventSchema, LIMITS.sendTimeoutMs, signal);
  }

  /** The same with what happens from then on. */
  stream(message: OutgoingMessage, signal: AbortSignal): AsyncGenerator<RemoteEvent> {
    return this.#events("stream", { message: this.#message(message) }, LIMITS.sendTimeoutMs, signal);
  }

  subscribe(taskId: string, signal: AbortSignal): AsyncGenerator<RemoteEvent> {
    return this.#events("subscribe", { id: taskId }, LIMITS.streamIdleMs, signal);
  }

  get(taskId: string, signal: AbortSignal): Promise<RemoteTask> {
    return this.#call("get", { id: taskId, historyLength: 1 }, taskSchema, LIMITS.readTimeoutMs, signal);
  }

  cancel(taskId: string, signal: AbortSignal): Promise<RemoteTask> {
    return this.#call("cancel", { id: taskId }, taskSchema, LIMITS.cancelTimeoutMs, signal);
  }

  #message({ messageId, text, data, taskId, contextId }: OutgoingMessage): Json {
    const current = this.#endpoint.version === "1.0";
    const kind = <T extends object>(word: string, part: T): T => (current ? part : { kind: word, ...part });
    return {
      ...kind("message", { messageId, role: current ? "ROLE_USER" : "user" }),
      parts: [kind("text", { text }), ...(data === undefined ? [] : [kind("data", { data })])],
      ...(taskId !== undefined && { taskId }),
      ...(contextId !== undefined && { contextId }),
    };
  }

  async #call<T>(method: Method, params: object, schema: z.ZodType<T>, ms: number, signal: AbortSignal): Promise<T> {
    const timed = withTimeout(signal, ms, this.#url);
    try {
      const reply = await this.#post(method, params, "application/json", ms, timed.signal);
      const limits = { url: this.#url, signal: timed.signal, maxBytes: LIMITS.replyBytes };
      return this.#result(await jsonOf(reply, limits), schema);
    } finally {
      timed.end();
    }
  }

  async *#events(method: Method, params: object, idleMs: number, signal: AbortSignal): AsyncGenerator<RemoteEvent> {
    const url = this.#url;
    const reply = await this.#post(method, params, "text/event-stream", idleMs, signal);
    if (!reply.type.startsWith("text/event-stream")) {
      // an error, or an agent that answers at once although its card says that it streams
      yield this.#result(await jsonOf(reply, { url, signal, maxBytes: LIMITS.replyBytes }), eventSchema);
      return;
    }
    const chunks = chunksOf(reply, { url, signal, maxBytes: LIMITS.streamBytes });
    for await (const data of eventData(chunks, LIMITS.replyBytes)) yield this.#result(parsed(data, url), eventSchema);
  }

  async #post(method: Method, params: object, accept: string, idleMs: number, signal: AbortSignal): Promise<HttpReply> {
    const { version, tenant } = this.#endpoint;
    const call = {
      jsonrpc: "2.0",
      id: 1, // one request each
      method: METHODS[version][method],
      params: tenant === undefined ? params : { ...params, tenant },
    };
    const reply = await send({
      method: "POST",
      url: this.#url,
      headers: {
        ...(await this.#connection.headers()),
        ...(version === "1.0" && { "a2a-version": "1.0" }),
        "content-type": "application/json",
        accept,
      },
      body: JSON.stringify(call),
      idleMs,
      allowPrivate: this.#connection.allowPrivate,
      signal,
    });
    // an error of JSON-RPC may come with any status
    return reply.status < 400 || reply.type.startsWith("application/json") ? reply : okOrThrow(reply, this.#url);
  }

  #result<T>(answer: unknown, schema: z.ZodType<T>): T {
    const { host } = this.#url;
    if (typeof answer !== "object" || answer === null) throw new RemoteFailure(`${host} answered without a result`);
    const { error, result } = answer as { readonly error?: unknown; readonly result?: unknown }; // checked below
    if (error !== undefined && error !== null) throw new RemoteFailure(`${host} refused: ${errorText(error)}`);
    const checked = schema.safeParse(result);
    if (checked.success) return checked.data;
    throw new RemoteFailure(`${host} answered with something that A2A does not know`);
  }
}

function parsed(data: string, url: URL): unknown {
  try {
    return JSON.parse(data) as unknown;
  } catch (error) {
    throw new RemoteFailure(`${url.host} streamed something that is not JSON`, { cause: error });
  }
}

function errorText(error: unknown): string {
  const { message, code } = error as { readonly message?: unknown; readonly code?: unknown }; // shown only
  const text = typeof message === "string" ? message.slice(0, LIMITS.saidCharacters).toWellFormed() : "no reason given";
  return typeof code === "number" ? `${text} (${code})` : text;
}

function okOrThrow(reply: HttpReply, { host }: URL): HttpReply {
  const { status } = reply;
  if (status >= 200 && status < 300) return reply;
  reply.body.destroy();
  const why = status === 401 || status === 403 ? ": it wants other credentials" : "";
  throw new RemoteFailure(`${host} answered with status ${status}${why}`, { again: status === 429 || status >= 500 });
}

function withTimeout(signal: AbortSignal, ms: number, { host }: URL): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const late = (): void => controller.abort(new RemoteFailure(`${host} took too long`, { again: true }));
  const cancel = systemClock.after(ms, late, { background: true });
  return { signal: AbortSignal.any([signal, controller.signal]), end: cancel };
}
