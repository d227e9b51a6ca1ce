/** What a run may still spend: its limits less what was spent, given to sub-agents and set aside. */

import type { Limits } from "../words/event.ts";
import { tokensOf, type Usage } from "../words/message.ts";
import type { RunState, SessionState } from "./session-state.ts";

/** What is counted; time is not. */
export type Kind = "tokens" | "microUsd" | "calls";
export const KINDS: readonly Kind[] = ["tokens", "microUsd", "calls"];

/** What is neither spent nor set aside, for each kind that the run limits. May be negative. */
export function budgetLeft({ run, tasks }: Pick<SessionState, "run" | "tasks">): Limits {
  const left: { [K in Kind]?: number } = {};
  if (run === undefined) return left;
  const granted = Object.values(tasks).filter((task) => task.runId === run.id);
  for (const kind of KINDS) {
    const limit = run.limits[kind];
    if (limit === undefined) continue;
    const grants = granted.reduce((sum, { grant }) => sum + (grant?.[kind] ?? 0), 0);
    left[kind] = limit - spent(run, kind) - grants - reservedNow(run, kind);
  }
  return left;
}

function spent({ usage, childUsage, callsMade, childCalls, lost }: RunState, kind: Kind): number {
  switch (kind) {
    case "tokens":
      return tokensOf(usage) + tokensOf(childUsage) + (lost.tokens ?? 0);
    case "microUsd":
      return costOf(usage) + costOf(childUsage) + (lost.microUsd ?? 0);
    case "calls":
      return callsMade + childCalls;
    default:
      return kind satisfies never;
  }
}

function costOf(usage: Usage): number {
  return usage.costMicroUsd ?? 0;
}

function reservedNow({ turn, stepReserved }: RunState, kind: Kind): number {
  const steps = Object.values(stepReserved).reduce((sum, reserved) => sum + (reserved[kind] ?? 0), 0);
  return steps + (turn?.reason === undefined ? (turn?.reserved?.[kind] ?? 0) : 0);
}

/** Whether some limit of the run is used up. */
export function isSpent(state: Pick<SessionState, "run" | "tasks">): boolean {
  const left = budgetLeft(state);
  return KINDS.some((kind) => (left[kind] ?? 1) <= 0);
}
