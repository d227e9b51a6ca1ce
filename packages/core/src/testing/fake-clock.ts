/** A clock that stands still until a test moves it. */

import type { Clock } from "../words/clock.ts";

export type FakeClock = Clock & {
  /**
   * Moves the time on and fires what comes due, in order of time, then of setting. Before and after each timer everything
   * that can go on without the clock does so, and timers set meanwhile fire too when they come due. One call at a time.
   */
  advance(ms: number): Promise<void>;
  /** Timers that are set, background ones included. */
  readonly pending: number;
};

/** 2026-01-01T00:00:00Z */
const START = 1_767_225_600_000;
/** More firings in one `advance` are taken for a timer that sets itself again without end. */
const MAX_FIRED = 100_000;

/** `start` is the wall clock's first value in milliseconds since 1970; the monotonic clock starts at 0. */
export function fakeClock(start: number = START): FakeClock {
  let elapsed = 0;
  let order = 0;
  const timers = new Map<number, { readonly due: number; readonly fire: () => void }>();
  const earliest = (limit: number): number | undefined => {
    let found: number | undefined;
    for (const [id, { due }] of timers) {
      if (due <= limit && (found === undefined || due < (timers.get(found)?.due ?? 0))) found = id;
    }
    return found;
  };
  return {
    now: () => start + elapsed,
    monotonic: () => elapsed,
    after(ms, fire) {
      const id = order++;
      timers.set(id, { due: elapsed + Math.max(ms, 0), fire });
      return () => void timers.delete(id);
    },
    async advance(ms) {
      const target = elapsed + ms;
      await settled();
      for (let fired = 0, id = earliest(target); id !== undefined; id = earliest(target)) {
        if (++fired > MAX_FIRED) throw new Error(`fakeClock: ${MAX_FIRED} timers fired within ${ms} ms`);
        const timer = timers.get(id);
        timers.delete(id);
        elapsed = Math.max(elapsed, timer?.due ?? 0);
        timer?.fire();
        await settled();
      }
      elapsed = target;
    },
    get pending() {
      return timers.size;
    },
  };
}

/** Two turns of the event loop: one may only be what starts the next. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
