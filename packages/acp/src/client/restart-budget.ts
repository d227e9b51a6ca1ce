/** How often, and how soon, an agent that ends by itself is started again. */

import type { Clock } from "@capstan/core";
import { ACP_LIMITS as LIMITS } from "../limits.ts";

export class RestartBudget {
  readonly #clock: Clock;
  #taken: number[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The next start, or `undefined` when there were too many of late. */
  take(): { readonly attempt: number; readonly delayMs: number } | undefined {
    const now = this.#clock.monotonic();
    this.#taken = this.#taken.filter((at) => now - at < LIMITS.restartWindowMs);
    if (this.#taken.length >= LIMITS.restarts) return undefined;
    this.#taken.push(now);
    const attempt = this.#taken.length;
    return { attempt, delayMs: Math.min(LIMITS.restartBaseMs * 2 ** (attempt - 1), LIMITS.restartMaxMs) };
  }
}
