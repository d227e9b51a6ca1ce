/** The only place that reads the time or sets a timer. Everything else is handed a `Clock`. */

export interface Clock {
  /** Wall clock, integer milliseconds since 1970: for display and for facts. */
  now(): number;
  /** Milliseconds that never jump: for durations, time-outs and leases. */
  monotonic(): number;
  /** Calls `fire` once after `ms`. The returned function cancels it. A timer does not keep the process alive when `background`. */
  after(ms: number, fire: () => void, options?: { readonly background?: boolean }): () => void;
}

/** Node cannot wait longer than this in one timer; longer waits are chained. */
const MAX_TIMER_MS = 2_000_000_000;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fire, options) {
    let timer: NodeJS.Timeout | undefined;
    const arm = (left: number): void => {
      const wait = Math.min(Math.max(left, 0), MAX_TIMER_MS);
      timer = setTimeout(() => (left > wait ? arm(left - wait) : fire()), wait);
      if (options?.background === true) timer.unref();
    };
    arm(ms);
    return () => clearTimeout(timer);
  },
};

/** A wall clock that is corrected a little at a time stays below this from one look to the next; one that is set does not. */
const STEP_MS = 1_000;

/** Wall time that never jumps: the wall clock, until it is set; from there on what it would say had it not been. */
export function steady(clock: Clock): () => number {
  let offset = clock.now() - clock.monotonic();
  return () => {
    const wall = clock.now();
    const monotonic = clock.monotonic();
    if (Math.abs(wall - monotonic - offset) >= STEP_MS) return Math.round(monotonic + offset);
    offset = wall - monotonic;
    return wall;
  };
}

/** Resolves after `ms`; rejects with `signal.reason` when aborted. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
