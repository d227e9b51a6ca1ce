/** The body of a node:http response as an async iterable: no Web Streams, one hop a read of the socket, bounded. */

import type { IncomingMessage } from "node:http";

/** Bytes waiting for the reader above which the socket is paused. */
const PAUSE_BYTES = 1024 * 1024;

/** Errors of the connection pass through `toError`; an abort throws `signal.reason` and closes the socket. */
export function responseChunks(
  response: IncomingMessage,
  signal: AbortSignal,
  toError: (error: unknown) => Error,
): AsyncIterable<Uint8Array> {
  const reader = new ResponseReader(response, signal, toError);
  return { [Symbol.asyncIterator]: () => reader };
}

type Result = IteratorResult<Uint8Array>;
type Waiting = { readonly resolve: (result: Result) => void; readonly reject: (error: unknown) => void };

class ResponseReader implements AsyncIterator<Uint8Array> {
  readonly #response: IncomingMessage;
  readonly #signal: AbortSignal;
  #queue: Buffer[] = [];
  #waitingBytes = 0;
  #ended = false;
  #error: unknown;
  #waiting: Waiting | undefined;

  constructor(response: IncomingMessage, signal: AbortSignal, toError: (error: unknown) => Error) {
    this.#response = response;
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
    response.on("data", (chunk: Buffer) => {
      this.#queue.push(chunk);
      this.#waitingBytes += chunk.length;
      if (this.#waitingBytes > PAUSE_BYTES) response.pause();
      // In a microtask, so that everything which one read of the socket brought is in the queue by then.
      if (this.#waiting !== undefined && this.#queue.length === 1) queueMicrotask(this.#answer);
    });
    response.on("end", () => this.#finish(undefined));
    response.on("error", (error) => this.#finish(toError(error)));
    // A premature close without an error event: the body is not whole.
    response.on("close", () => this.#finish(response.complete ? undefined : toError(undefined)));
  }

  next(): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      if (this.#queue.length > 0 || this.#ended) this.#answer();
    });
  }

  return(): Promise<Result> {
    this.#queue = [];
    if (!this.#ended) {
      this.#finish(undefined);
      this.#response.destroy();
    }
    return Promise.resolve({ done: true, value: undefined });
  }

  readonly #answer = (): void => {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    const failed = this.#ended && this.#error !== undefined;
    if (failed && (this.#signal.aborted || this.#queue.length === 0)) waiting.reject(this.#error);
    else if (this.#queue.length > 0) waiting.resolve({ done: false, value: this.#take() });
    else if (this.#ended) waiting.resolve({ done: true, value: undefined });
    else this.#waiting = waiting;
  };

  #take(): Buffer {
    const queue = this.#queue;
    this.#queue = [];
    this.#waitingBytes = 0;
    if (this.#response.isPaused()) this.#response.resume();
    const [first] = queue;
    return queue.length === 1 && first !== undefined ? first : Buffer.concat(queue);
  }

  readonly #onAbort = (): void => {
    this.#finish(this.#signal.reason);
    this.#response.destroy();
  };

  #finish(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#answer();
  }
}
