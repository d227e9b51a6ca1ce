/** Work of one kind on one thing, one after the other: of two that read and then write, none undoes the other. */

/** Lets what was asked for first finish first. A failure is the one's who asked; the next begins all the same. */
export class OneAtATime {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = before === undefined ? work() : before.then(work, work);
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}
