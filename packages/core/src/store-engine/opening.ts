/** An iterator that is opened by whoever first asks it for something, and costs each item nothing after that. */

/** An async generator around another iterator takes three promises an item; this takes none. */
export class Opening<T> implements AsyncIterableIterator<T> {
  readonly #open: () => Promise<AsyncIterator<T>>;
  #opening: Promise<AsyncIterator<T>> | undefined;
  #opened: AsyncIterator<T> | undefined;
  #left = false;

  constructor(open: () => Promise<AsyncIterator<T>>) {
    this.#open = open;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#left) return Promise.resolve({ value: undefined, done: true });
    return this.#opened === undefined ? this.#first() : this.#opened.next();
  }

  async return(): Promise<IteratorResult<T>> {
    this.#left = true;
    const opened = await this.#opening?.catch(() => undefined); // whoever asked was told why it did not open
    await opened?.return?.();
    return { value: undefined, done: true };
  }

  async #first(): Promise<IteratorResult<T>> {
    this.#opened = await (this.#opening ??= this.#open());
    return this.#opened.next();
  }
}
