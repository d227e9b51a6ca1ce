/** Where the prompt cache is told to stand: a pure policy for providers that take explicit breakpoints, at most four. */

import type { Message } from "../words/message.ts";

/** Providers look for what is cached in this many blocks up to a breakpoint (Anthropic, prompt caching). */
export const LOOK_BACK_BLOCKS = 20;

/**
 * Indexes of messages after which a breakpoint stands, rising; -1 is after system and tools. The newest tail writes what
 * this turn added. The previous tail reads what the turns before wrote. When more blocks lie between them than a provider
 * looks back over, a spare one stands within reach of the newest, so that the next turn finds a prefix even if it cannot
 * name this tail. `previousTail` is the last index of the request before, undefined or negative when there was none.
 */
export function cachePlan(messages: readonly Message[], previousTail: number | undefined): readonly number[] {
  const newest = messages.length - 1;
  const previous = Math.min(previousTail ?? -1, newest);
  const plan = [-1];
  if (previous >= 0) plan.push(previous);
  const spare = spareBetween(messages, Math.max(previous, -1), newest);
  if (spare !== undefined) plan.push(spare);
  if (newest > previous) plan.push(newest);
  return plan;
}

/** The earliest message from whose end the newest tail is within reach, when the previous tail is not. */
function spareBetween(messages: readonly Message[], previous: number, newest: number): number | undefined {
  let blocks = 0;
  let spare: number | undefined;
  for (let index = newest; index > previous; index--) {
    blocks += messages[index]?.parts.length ?? 0;
    if (blocks >= LOOK_BACK_BLOCKS) return spare;
    if (index - 1 > previous) spare = index - 1;
  }
  return undefined;
}
