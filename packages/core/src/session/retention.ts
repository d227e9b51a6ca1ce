/** Forgetting sessions that nobody needs any more: by age, and by number. */

import type { SessionSummary } from "../ports/store.ts";
import type { Runtime } from "./runtime.ts";

export type Retention = {
  /** Sessions whose last change is older go; in milliseconds since 1970. */
  readonly before?: number;
  /** Only so many stay: those that changed last. */
  readonly keep?: number;
};

/**
 * Removes idle sessions with all that belongs to them, sub-agents too, and answers with what it removed, the oldest change
 * first. What is unfinished or damaged stays and counts as kept. A child goes with its parent only.
 */
export async function pruneSessions(runtime: Runtime, retention: Retention): Promise<readonly SessionSummary[]> {
  const removed: SessionSummary[] = [];
  for (const summary of forgotten(await runtime.sessions(), retention)) {
    const session = await runtime.session(summary.sessionId);
    if (await session.isRunning()) continue; // an input came since
    await session.remove();
    removed.push(summary);
  }
  return removed;
}

/** Which of these would be removed. Pure. */
export function forgotten(
  sessions: readonly SessionSummary[],
  { before = 0, keep = sessions.length }: Retention,
): readonly SessionSummary[] {
  const roots = sessions.filter(({ parent }) => parent === undefined);
  const newestFirst = roots.toSorted((left, right) => right.updatedAt - left.updatedAt);
  const busy = new Set<string>();
  const parents = new Map(sessions.map(({ sessionId, parent }) => [sessionId, parent]));
  for (const { sessionId, status } of sessions)
    for (let id: string | undefined = sessionId; status !== "idle" && id !== undefined; id = parents.get(id))
      busy.add(id);
  return newestFirst
    .filter(({ updatedAt }, index) => updatedAt < before || index >= keep)
    .filter(({ sessionId }) => !busy.has(sessionId))
    .toReversed();
}
