/** Requests to the HTTP door that served this page: the token in a header, errors with the door's code and words. */

export type Problem = { readonly code: string; readonly message: string };

/** A refusal of the door, or `unreachable` when there was no answer. */
export class DoorError extends Error {
  readonly code: string;
  readonly status: number;

  constructor({ code, message }: Problem, status: number) {
    super(message);
    this.name = "DoorError";
    this.code = code;
    this.status = status;
  }
}

export type Asking = {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
};

const TOKEN = "capstan.token";
/** The page lies in `console/` below the routes. */
const base = new URL("../", document.baseURI);

export function storedToken(): string | undefined {
  return sessionStorage.getItem(TOKEN) ?? undefined;
}

export function storeToken(token: string | undefined): void {
  if (token === undefined) sessionStorage.removeItem(TOKEN);
  else sessionStorage.setItem(TOKEN, token);
}

export class Connection {
  readonly #token: string;
  /** Called when the door no longer knows the token. */
  readonly #refused: () => void;

  constructor(token: string, refused: () => void) {
    this.#token = token;
    this.#refused = refused;
  }

  /** The JSON of an answer. Throws `DoorError`. */
  async ask<T>(path: string, asking: Asking = {}): Promise<T> {
    const response = await this.open(path, asking);
    return (response.status === 204 ? undefined : await response.json()) as T; // the door's own answer
  }

  /** An answer whose body is yet to be read. Throws `DoorError`. */
  async open(path: string, { method = "GET", body, idempotencyKey, accept, signal }: Asking): Promise<Response> {
    const headers = new Headers({ authorization: `Bearer ${this.#token}` });
    if (accept !== undefined) headers.set("accept", accept);
    if (body !== undefined) headers.set("content-type", "application/json");
    if (idempotencyKey !== undefined) headers.set("idempotency-key", idempotencyKey);
    const init: RequestInit = { method, headers, cache: "no-store", credentials: "omit", redirect: "error" };
    if (body !== undefined) init.body = JSON.stringify(body);
    if (signal !== undefined) init.signal = signal;
    const response = await fetch(new URL(path, base), init).catch((error: unknown) => {
      if (signal?.aborted === true) throw error;
      throw new DoorError({ code: "unreachable", message: "The server cannot be reached" }, 0);
    });
    if (response.ok) return response;
    if (response.status === 401) this.#refused();
    throw new DoorError(await problemIn(response), response.status);
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function problemIn(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => "");
  try {
    const { error } = JSON.parse(text) as { error: Problem };
    return { code: String(error.code), message: String(error.message) };
  } catch {
    return { code: "unknown", message: `The server answered with status ${response.status}` };
  }
}
