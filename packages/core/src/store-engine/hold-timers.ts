/** The timers that one hold has set: the store keeps them by the wall clock, the hold counts by its own time. */

import type { Clock } from "../words/clock.ts";
import type { TimerSetting } from "../words/keys.ts";

/** The two clocks are rounded apart: this much is no step of the wall clock. */
const ROUNDING_MS = 1;

export class HoldTimers {
  readonly #clock: Clock;
  readonly #now: () => number;
  /** When each one is due by the time of the hold, and by the wall clock as it stands in the store. */
  readonly #due = new Map<string, { readonly at: number; readonly stored: number }>();

  /** `now`: the time of the hold. */
  constructor(clock: Clock, now: () => number) {
    this.#clock = clock;
    this.#now = now;
  }

  /** Milliseconds to the first of them; `Infinity` without one. */
  get nextMs(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { at } of this.#due.values()) next = Math.min(next, at);
    return Math.max(1, next - this.#now());
  }

  /** Takes timers by the time of the hold, answers with them as the store is to keep them: equally far from now. */
  set(timers: readonly TimerSetting[]): readonly TimerSetting[] {
    const apart = this.#clock.now() - this.#now();
    const ahead = Math.abs(apart) <= ROUNDING_MS ? 0 : apart;
    return timers.map(({ name, at }) => {
      if (at === undefined) {
        this.#due.delete(name);
        return { name, at };
      }
      this.#due.set(name, { at, stored: at + ahead });
      return { name, at: at + ahead };
    });
  }

  /** Those that are due, but by the wall clock, which was set back, are not. What is due for the store too is forgotten here. */
  late(): readonly TimerSetting[] {
    const now = this.#now();
    const wall = this.#clock.now();
    const late: TimerSetting[] = [];
    for (const [name, { at, stored }] of this.#due) {
      if (at > now) continue;
      if (stored > wall + ROUNDING_MS) late.push({ name, at });
      else if (stored <= wall) this.#due.delete(name);
    }
    return late;
  }
}
