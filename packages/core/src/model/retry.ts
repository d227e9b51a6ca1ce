/** When a failed model call is asked again: a pure policy with a bounded number of tries and a bounded total wait. */

import type { Problem } from "../words/event.ts";
import { LIMITS } from "../words/limits.ts";

/**
 * Milliseconds to wait before the next try, or `undefined` when there is none. `attempt` counts from 1, `spentMs` is what
 * was waited so far in this turn. A wait that the provider asked for is honoured in full or not at all.
 */
export function retryDelay(
  attempt: number,
  problem: Problem,
  retryAfterMs: number | undefined,
  spentMs: number,
): number | undefined {
  if (!problem.retryable || attempt >= LIMITS.modelAttempts) return undefined;
  const backoffMs = Math.min(LIMITS.modelRetryBaseMs * 2 ** (attempt - 1), LIMITS.modelRetryMaxMs);
  const delayMs = Math.max(0, retryAfterMs ?? backoffMs);
  return spentMs + delayMs > LIMITS.modelRetryBudgetMs ? undefined : delayMs;
}
