/** The deadline of a run counts time outside suspension: its timer is set when the run goes on, and dropped when it waits. */

import type { RunState } from "./session-state.ts";

type Timer = { readonly name: string; readonly at: number };

/** Milliseconds left; negative when the time is over. */
export function timeLeft(run: RunState, now: number): number {
  const asleep = run.suspendedMs + (run.suspendedAt === undefined ? 0 : now - run.suspendedAt);
  return (run.limits.wallMs ?? 0) - (now - run.startedAt - asleep);
}

/** The timer of a run that goes on; none for one without a deadline or one that waits. */
export function deadlineTimers(run: RunState, now: number): readonly Timer[] {
  if (run.limits.wallMs === undefined || run.suspendedAt !== undefined) return [];
  return [{ name: `deadline/${run.id}`, at: now + Math.max(0, timeLeft(run, now)) }];
}
