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

class ResponseReader implements AsyncIterator<Uint8Array> {
  readonly #response: IncomingMessage;
  readonly #signal: AbortSignal;
  #queue: Buffer[] = [];
  #waitingBytes = 0;
  #ended = false;
  #error: unknown;
  #wake: (() => void) | undefined;

  constructor(response: IncomingMessage, signal: AbortSignal, toError: (error: unknown) => Error) {
    this.#response = response;
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
    response.on("data", (chunk: Buffer) => {
      this.#queue.push(chunk);
      this.#waitingBytes += chunk.length;
      if (this.#waitingBytes > PAUSE_BYTES) response.pause();
      if (this.#wake !== undefined) this.#wakeUp();
    });
    response.on("end", () => this.#finish(undefined));
    response.on("error", (error) => this.#finish(toError(error)));
    // A premature close without an error event: the body is not whole.
    response.on("close", () => this.#finish(response.complete ? undefined : toError(undefined)));
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    // Woken in a microtask, so everything that one read of the socket brought is in the queue by then.
    while (this.#queue.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    if (this.#signal.aborted && this.#error !== undefined) throw this.#error;
    if (this.#queue.length > 0) return { done: false, value: this.#take() };
    if (this.#error !== undefined) throw this.#error;
    return { done: true, value: undefined };
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.#queue = [];
    if (!this.#ended) {
      this.#finish(undefined);
      this.#response.destroy();
    }
    return Promise.resolve({ done: true, value: undefined });
  }

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
    this.#wakeUp();
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
