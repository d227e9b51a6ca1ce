/** Requests to a Capstan server: with the token, in time, again where that is safe, and its errors as `CapstanError`. */

import { CapstanError, type Clock, ERROR_CODES, messageOf, sleep } from "@capstan/core";
import { SERVER_LIMITS } from "../server-limits.ts";

export type ConnectionOptions = {
  readonly url: string;
  /** Sent as a bearer token; a function is asked each time. */
  readonly token?: string | (() => string | Promise<string>);
  readonly fetch?: typeof fetch;
  readonly clock: Clock;
  readonly signal: AbortSignal;
};
export type Asking = {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly body?: unknown;
  readonly query?: { readonly [name: string]: string | number | undefined };
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** The same request may be sent again when no answer came. Default: for GET. */
  readonly again?: boolean;
};

export interface Connection {
  readonly clock: Clock;
  /** Aborts when the runtime is closed. */
  readonly signal: AbortSignal;
  /** The answer, whose status is a good one. Throws what the server says, `server-unreachable`, or the signal's reason. */
  ask(path: string, asking?: Asking): Promise<Response>;
  /** The JSON of the answer; `undefined` for an empty one. */
  json<T>(path: string, asking?: Asking): Promise<T>;
}

export function connection(options: ConnectionOptions): Connection {
  const base = baseOf(options.url);
  const { clock, signal: closed } = options;
  const once = async (path: string, asking: Asking): Promise<Response> => {
    const { method = "GET", body, query = {}, headers = {}, signal } = asking;
    const url = new URL(`${base}${path}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const token = typeof options.token === "function" ? await options.token() : options.token;
    const response = await (options.fetch ?? fetch)(url, {
      method,
      headers: {
        ...headers,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      signal: signal === undefined ? closed : AbortSignal.any([signal, closed]),
      redirect: "error", // a token goes nowhere else
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw await errorOf(response);
    return response;
  };
  const ask = async (path: string, asking: Asking = {}): Promise<Response> => {
    const { method = "GET", again = method === "GET", signal } = asking;
    for (let tries = 1; ; tries++) {
      try {
        return await once(path, asking);
      } catch (given) {
        closed.throwIfAborted();
        signal?.throwIfAborted();
        const error = CapstanError.is(given) ? given : unreachable(options.url, given);
        const passes = error.code === "server-unreachable" || error.code === "closed";
        if (!again || !passes || tries >= SERVER_LIMITS.reconnects) throw error;
        await sleep(clock, retryMs(tries), signal === undefined ? closed : AbortSignal.any([signal, closed]));
      }
    }
  };
  return {
    clock,
    signal: closed,
    ask,
    async json<T>(path: string, asking?: Asking) {
      const response = await ask(path, asking);
      try {
        const text = await response.text();
        return (text === "" ? undefined : JSON.parse(text)) as T; // our own door
      } catch (error) {
        closed.throwIfAborted();
        throw unreachable(options.url, error);
      }
    },
  };
}

/** Waits longer each time, so that a server that comes back is not run over. */
export function retryMs(tries: number): number {
  return Math.min(SERVER_LIMITS.reconnectMs * 2 ** (tries - 1), SERVER_LIMITS.mostReconnectMs);
}

function baseOf(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new CapstanError("usage", `${JSON.stringify(url)} is no http(s) address of a server`);
  const { username, password } = new URL(url);
  if (username !== "" || password !== "")
    throw new CapstanError("usage", "A server's address must hold no password; give a token");
  return url.replace(/\/+$/, "");
}

function unreachable(url: string, cause: unknown): CapstanError {
  const why = messageOf(cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause);
  const message = `The server ${url} cannot be reached (${why}); look whether it runs`;
  return new CapstanError("server-unreachable", message, { cause, retryable: true });
}

async function errorOf(response: Response): Promise<CapstanError> {
  const { status } = response;
  const text = await response.text().catch(() => "");
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string; retryable?: boolean } };
    const code = ERROR_CODES.find((known) => known === error.code) ?? "run-failed";
    return new CapstanError(code, String(error.message), { status, retryable: error.retryable === true });
  } catch {
    // not this door's words: something stands in between
    const message = `The server answered ${status} and nothing that Capstan would say`;
    return new CapstanError("server-unreachable", message, { status, retryable: status >= 500 });
  }
}
