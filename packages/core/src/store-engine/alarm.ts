/** One timer for many wishes: rings at the earliest of the times that were asked for, and then has to be asked anew. */

import type { Clock } from "../words/clock.ts";

export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #due = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** By the monotonic clock. Keeps no process alive. */
  ringAt(due: number): void {
    if (due >= this.#due) return;
    this.#cancel();
    this.#due = due;
    const fire = (): void => {
      this.#due = Number.POSITIVE_INFINITY;
      this.#ring();
    };
    this.#cancel = this.#clock.after(due - this.#clock.monotonic(), fire, { background: true });
  }

  ringIn(ms: number): void {
    this.ringAt(this.#clock.monotonic() + ms);
  }

  /** It never rings again. */
  end(): void {
    this.#due = Number.NEGATIVE_INFINITY;
    this.#cancel();
  }
}
