/**
 * The time of a run: what counts towards its deadline. Waiting for a person or a timer does not; waiting for sub-agents
 * counts for as long as they work. Its timer is set when the run goes on, and dropped when it waits.
 */

import { type TimerSetting, deadlineTimer, readName } from "../words/keys.ts";
import type { RunState } from "./session-state.ts";

/** Milliseconds left; negative when the time is over. Waiting for sub-agents counts once none of them is left. */
export function timeLeft(run: RunState, now: number): number {
  const asleep = run.suspendedMs + (run.awaited?.ms ?? 0) + (run.suspendedAt === undefined ? 0 : now - run.suspendedAt);
  return (run.limits.wallMs ?? 0) - (now - run.startedAt - asleep);
}

/** Milliseconds that a sub-agent may take: all waiting for others that have not ended counts. */
export function timeToGive(run: RunState, now: number): number {
  return Math.max(1, timeLeft(run, now) - (run.awaited?.ms ?? 0));
}

/** Milliseconds that count of a run that ends now, sub-agents that are still open in full. */
export function timeTaken(run: RunState, now: number): number {
  const asleep = run.suspendedAt === undefined || run.suspendedForTask === true ? 0 : now - run.suspendedAt;
  return Math.max(0, now - run.startedAt - run.suspendedMs - asleep);
}

/** The timer of a run that goes on; none for one without a deadline or one that waits. */
export function deadlineTimers(run: RunState, now: number): readonly TimerSetting[] {
  if (run.limits.wallMs === undefined || run.suspendedAt !== undefined) return [];
  return [{ name: deadlineTimer(run.id), at: now + Math.max(0, timeLeft(run, now)) }];
}

/** The run from when nothing in it can go on; `on` as in `run.suspended`. */
export function suspended(run: RunState, at: number, on: readonly string[]): RunState {
  if (run.suspendedAt !== undefined) return run;
  return { ...run, suspendedAt: at, ...(on.some((id) => readName(id).kind === "task") && { suspendedForTask: true }) };
}

/** The run from when it goes on. Where the wall clock was set back between two holds, no time has passed between them. */
export function resumed(run: RunState, at: number): RunState {
  const back = (run.suspendedAt ?? run.startedAt + run.suspendedMs) - at;
  if (back > 0) return resumed(setBack(run, back), at);
  if (run.suspendedAt === undefined) return run;
  const { suspendedAt, suspendedForTask, ...awake } = run;
  const ms = Math.max(0, at - suspendedAt);
  if (suspendedForTask !== true) return { ...awake, suspendedMs: run.suspendedMs + ms };
  const { ms: before = 0, workedMs = 0 } = run.awaited ?? {};
  return { ...awake, awaited: { ms: before + ms, workedMs } };
}

function setBack(run: RunState, ms: number): RunState {
  const { startedAt, suspendedAt } = run;
  return { ...run, startedAt: startedAt - ms, ...(suspendedAt !== undefined && { suspendedAt: suspendedAt - ms }) };
}

/**
 * The run after a sub-agent that it waited for took this time. `last`: no other one is left, so that what is certain can
 * be given back: the time in which none of them worked.
 */
export function afterTask(run: RunState, tookMs: number | undefined, last: boolean): RunState {
  const { awaited, ...rest } = run;
  if (awaited === undefined) return run;
  const workedMs = awaited.workedMs + (tookMs ?? awaited.ms); // nobody says how long: all of it
  if (!last) return { ...rest, awaited: { ...awaited, workedMs } };
  return { ...rest, suspendedMs: run.suspendedMs + Math.max(0, awaited.ms - workedMs) };
}
