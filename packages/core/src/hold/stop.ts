/** Telling one piece of work to stop, and not waiting for ever for it to hear that. */

import type { Clock } from "../words/clock.ts";
import { LIMITS } from "../words/limits.ts";

/** One of these for each piece of work costs a tenth of `AbortSignal.any` over signals that live long. */
export class Stop {
  /** Whether a halt of the run stops it. */
  readonly halts: boolean;
  /** Called once, when it aborts. */
  onStop: (() => void) | undefined;
  /** The work is over: lets go of it. */
  readonly end: () => void;
  #aborted: { readonly reason: unknown } | undefined;
  #controller: AbortController | undefined;

  constructor(halts: boolean, end: (stop: Stop) => void) {
    this.halts = halts;
    this.end = () => end(this);
  }

  get aborted(): boolean {
    return this.#aborted !== undefined;
  }

  /** Made when somebody asks for it: much work never looks. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    if (this.#aborted !== undefined) return;
    this.#aborted = { reason };
    this.#controller?.abort(reason);
    this.onStop?.();
  }
}

export const IGNORED: unique symbol = Symbol("ignored");

/** After its signal a tool, or a model, has a short time to end; then its result is ignored. */
export async function endedOrIgnored<T>(clock: Clock, execution: Promise<T>, until: Stop): Promise<T | typeof IGNORED> {
  let cancel: (() => void) | undefined;
  const given = new Promise<typeof IGNORED>((resolve) => {
    const arm = (): void => {
      cancel = clock.after(LIMITS.interruptGraceMs, () => resolve(IGNORED));
    };
    if (until.aborted) arm();
    else until.onStop = arm;
  });
  try {
    return await Promise.race([execution, given]);
  } finally {
    until.onStop = undefined;
    cancel?.();
    execution.catch(() => undefined); // an ignored tool may still fail; nobody listens
  }
}
