/** Statistics over days, of the summaries of sessions: each counts on the local day on which it was begun. */

import { addUsage, NO_USAGE, type SessionSummary, type Usage } from "@capstan/core";
import { dayOf } from "../shown-values.ts";

export type DayStats = { readonly day: string; readonly sessions: number; readonly usage: Usage };

const DAY_MS = 86_400_000;

/** The last `count` days up to `now`, the newest last; days without a session too. */
export function dayStats(sessions: readonly SessionSummary[], now: number, count: number): readonly DayStats[] {
  const days = new Map<string, DayStats>();
  const noon = new Date(now).setHours(12, 0, 0, 0); // no change of the clock moves it to another day
  for (let back = count - 1; back >= 0; back--) {
    const day = dayOf(noon - back * DAY_MS);
    days.set(day, { day, sessions: 0, usage: NO_USAGE });
  }
  for (const { createdAt, usage } of sessions) {
    const day = days.get(dayOf(createdAt));
    if (day !== undefined) days.set(day.day, { ...day, sessions: day.sessions + 1, usage: addUsage(day.usage, usage) });
  }
  return [...days.values()];
}
