/** Telling one piece of work to stop, and not waiting for ever for it to hear that. */

import type { Clock } from "./clock.ts";
import { LIMITS } from "./limits.ts";

/** One controller for each piece of work costs a tenth of `AbortSignal.any` over signals that live long. */
export type Stop = {
  readonly signal: AbortSignal;
  /** Called once, when the signal aborts. */
  onStop: () => void;
  abort(reason: unknown): void;
  /** The work is over: lets go of it. */
  end(): void;
};

export const IGNORED: unique symbol = Symbol("ignored");

export function stop(end: () => void): Stop {
  const controller = new AbortController();
  const made: Stop = {
    signal: controller.signal,
    onStop: () => undefined,
    abort: (reason) => {
      if (controller.signal.aborted) return;
      controller.abort(reason);
      made.onStop();
    },
    end,
  };
  return made;
}

/** After its signal a tool, or a model, has a short time to end; then its result is ignored. */
export async function endedOrIgnored<T>(clock: Clock, execution: Promise<T>, until: Stop): Promise<T | typeof IGNORED> {
  let cancel = (): void => undefined;
  const given = new Promise<typeof IGNORED>((resolve) => {
    const arm = (): void => {
      cancel = clock.after(LIMITS.interruptGraceMs, () => resolve(IGNORED));
    };
    if (until.signal.aborted) arm();
    else until.onStop = arm;
  });
  try {
    return await Promise.race([execution, given]);
  } finally {
    until.onStop = () => undefined;
    cancel();
    execution.catch(() => undefined); // an ignored tool may still fail; nobody listens
  }
}
