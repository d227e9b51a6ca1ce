/** Those who wait for the next change of a hold: woken once for all that happens in one tick. */

export class Waiters {
  #waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
  #failure: { readonly error: unknown } | undefined;
  #waking = false;

  /** Resolves after the next `wake`; rejects once something has failed. */
  changed(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  wake(): void {
    if (this.#waking || this.#waiting.length === 0) return;
    this.#waking = true;
    process.nextTick(() => this.#wakeAll());
  }

  /** The first failure is what everybody is told from now on. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.wake();
  }

  #wakeAll(): void {
    this.#waking = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { resolve, reject } of waiting) {
      if (this.#failure === undefined) resolve();
      else reject(this.#failure.error);
    }
  }
}
