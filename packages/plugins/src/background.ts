/** Work that nobody waits for: a few at a time, a bounded number waiting, ended with the runtime. */

const AT_ONCE = 4;
const MAX_WAITING = 256;

export class Background {
  readonly #ended = new AbortController();
  readonly #busy = new Set<Promise<void>>();
  #waiting: (() => Promise<unknown>)[] = [];

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Dropped when too much waits; its failure is nobody's. */
  start(work: () => Promise<unknown>): void {
    if (this.#ended.signal.aborted || this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push(work);
    this.#next();
  }

  #next(): void {
    while (this.#busy.size < AT_ONCE) {
      const work = this.#waiting.shift();
      if (work === undefined) return;
      const done = work()
        .then(
          () => undefined,
          () => undefined,
        )
        .finally(() => {
          this.#busy.delete(done);
          this.#next();
        });
      this.#busy.add(done);
    }
  }

  /** Stops what runs, forgets what waits, and settles when nothing of it is left. */
  async close(): Promise<void> {
    this.#waiting = [];
    this.#ended.abort();
    await Promise.all(this.#busy);
  }
}
