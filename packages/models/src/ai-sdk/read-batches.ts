/** Reads a stream in batches: what is at hand together, which is what one network chunk brought. */

/** A source that never rests must not make a batch without end, nor run ahead of its reader. */
const MAX_BATCH = 256;

/** Throws `signal.reason` on abort. Cancels the stream when its reader leaves before the end. */
export async function* readBatches(
  stream: ReadableStream<unknown>,
  signal: AbortSignal,
): AsyncGenerator<readonly unknown[]> {
  const inbox = new Inbox(stream.getReader());
  try {
    for (;;) {
      await unlessAborted(inbox.filled(), signal);
      const batch = inbox.take();
      if (batch.length > 0) yield batch;
      else if (inbox.ended) return inbox.rethrow();
    }
  } finally {
    inbox.leave();
  }
}

/** Where the parts wait that have come since the last batch. */
class Inbox {
  readonly #reader: ReadableStreamDefaultReader<unknown>;
  #parts: unknown[] = [];
  #came: PromiseWithResolvers<void> = Promise.withResolvers<void>();
  #room: PromiseWithResolvers<void> = Promise.withResolvers<void>();
  #failure: { readonly error: unknown } | undefined;
  #left = false;
  ended = false;

  constructor(reader: ReadableStreamDefaultReader<unknown>) {
    this.#reader = reader;
    void this.#fill();
  }

  async #fill(): Promise<void> {
    try {
      for (let read = await this.#reader.read(); !read.done; read = await this.#reader.read()) {
        this.#parts.push(read.value);
        if (this.#parts.length === 1) this.#came.resolve();
        while (this.#parts.length >= MAX_BATCH && !this.#left) await this.#room.promise;
      }
    } catch (error) {
      this.#failure = { error };
    }
    this.ended = true;
    this.#came.resolve();
  }

  /** A part has come, and those that came with it; or the end. */
  async filled(): Promise<void> {
    await this.#came.promise;
    if (!this.ended && this.#parts.length < MAX_BATCH) await new Promise((resolve) => setImmediate(resolve));
  }

  take(): readonly unknown[] {
    const parts = this.#parts;
    this.#parts = [];
    if (!this.ended) this.#came = Promise.withResolvers<void>();
    this.#room.resolve();
    this.#room = Promise.withResolvers<void>();
    return parts;
  }

  rethrow(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  leave(): void {
    this.#left = true;
    this.#room.resolve();
    this.#reader.cancel().catch(() => {}); // not awaited: a provider that is stuck must not hold up the reader
  }
}

/** The value, unless the signal comes first: then its reason is thrown, and what the value becomes is nobody's concern. */
export async function unlessAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error); // whatever the caller gave
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
