/** Asks the database now and then whether another connection changed it, as long as somebody wants to know. */

import type { Clock } from "@capstan/core";

export interface Watcher {
  /** Returns the end of it. */
  add(changed: () => void): () => void;
  close(): Promise<void>;
}

export type WatcherOptions = {
  readonly clock: Clock;
  readonly everyMs: number;
  /** A number that changes with every commit of others. */
  readonly version: () => Promise<number>;
};

/** The timer does not keep the process alive. A question that fails is asked again. */
export function watcher({ clock, everyMs, version }: WatcherOptions): Watcher {
  const callbacks = new Set<() => void>();
  let seen: number | undefined;
  let asking: Promise<void> | undefined;
  let cancel: (() => void) | undefined;
  let closed = false;

  const ask = async (): Promise<void> => {
    try {
      const now = await version();
      const changed = seen !== undefined && now !== seen;
      seen = now;
      if (changed) for (const tell of callbacks) tell();
    } catch {
      // the next call of the store tells its caller what is wrong
    }
    asking = undefined;
    arm();
  };
  const arm = (): void => {
    if (closed || callbacks.size === 0 || cancel !== undefined || asking !== undefined) return;
    const fire = (): void => {
      cancel = undefined;
      asking = ask();
    };
    cancel = clock.after(everyMs, fire, { background: true });
  };
  const disarm = (): void => {
    cancel?.();
    cancel = undefined;
    seen = undefined;
  };
  return {
    add(changed) {
      const own = (): void => changed(); // the same function may watch twice
      callbacks.add(own);
      if (seen === undefined && !closed) asking ??= ask(); // what changed before is not news
      return () => {
        if (callbacks.delete(own) && callbacks.size === 0) disarm();
      };
    },
    async close() {
      closed = true;
      disarm();
      await asking;
    },
  };
}
