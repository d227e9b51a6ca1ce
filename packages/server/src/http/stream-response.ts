/** Text that comes over time as a response: joined to few writes, no faster than it is read, alive while it is silent. */

import type { Clock } from "@capstan/core";
import { SSE_KEEP_ALIVE } from "@capstan/wire";
import { SERVER_LIMITS } from "../server-limits.ts";

export type StreamOptions = {
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Written when nothing else was for a while. Default: a comment that readers of events skip. */
  readonly keepAlive?: string;
  /** Called once, when the reader left or the source ended. */
  readonly ended: () => void;
};

export const SSE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** The source is left when the reader goes away, and when it takes nothing for `stallMs`. */
export function streamResponse(source: AsyncIterable<string>, options: StreamOptions): Response {
  const pump = new Pump(source[Symbol.asyncIterator](), options);
  const strategy = { highWaterMark: SERVER_LIMITS.streamBytes, size: (chunk: Uint8Array) => chunk.byteLength };
  const body = new ReadableStream<Uint8Array>(
    { start: (controller) => pump.start(controller), pull: () => pump.pulled(), cancel: () => pump.end() },
    strategy,
  );
  return new Response(body, { headers: options.headers });
}

class Pump {
  readonly #source: AsyncIterator<string>;
  readonly #options: StreamOptions;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #pending = "";
  #scheduled = false;
  #wrote = true;
  #ended = false;
  #room: (() => void) | undefined;
  #cancelTick: (() => void) | undefined;

  constructor(source: AsyncIterator<string>, options: StreamOptions) {
    this.#source = source;
    this.#options = options;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    this.#tick();
    void this.#run();
  }

  pulled(): void {
    this.#room?.();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelTick?.();
    this.#room?.();
    this.#options.ended();
    Promise.resolve(this.#source.return?.()).catch(() => undefined); // it ends with the stream, whatever it says
  }

  async #run(): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await this.#source.next();
        if (this.#ended) return;
        if (done === true) break;
        this.#pending += value;
        if (this.#pending.length >= SERVER_LIMITS.writeChars) this.#flush();
        else this.#schedule();
        if (this.#isFull()) await this.#untilRoom();
        if (this.#ended) return;
      }
      this.#flush();
      this.#controller?.close();
    } catch (error) {
      if (!this.#ended) this.#controller?.error(error);
    }
    this.end();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#ended || this.#pending === "") return;
    this.#controller?.enqueue(this.#encoder.encode(this.#pending));
    this.#pending = "";
    this.#wrote = true;
  }

  #isFull(): boolean {
    return (this.#controller?.desiredSize ?? 0) <= 0;
  }

  /** Whoever reads nothing is cut off: it finds everything again by its cursor. */
  async #untilRoom(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#room = resolve;
    const cancel = this.#options.clock.after(
      SERVER_LIMITS.stallMs,
      () => {
        if (this.#ended) return;
        this.#controller?.error(new Error("the reader stood still"));
        this.end();
      },
      { background: true },
    );
    await promise;
    cancel();
    this.#room = undefined;
  }

  #tick(): void {
    this.#cancelTick = this.#options.clock.after(
      SERVER_LIMITS.keepAliveMs,
      () => {
        if (this.#ended) return;
        if (!this.#wrote && !this.#isFull()) {
          this.#pending += this.#options.keepAlive ?? SSE_KEEP_ALIVE;
          this.#flush();
        }
        this.#wrote = false;
        this.#tick();
      },
      { background: true },
    );
  }
}
