/** Sessions below the sessions that started them. */

import type { SessionSummary } from "@capstan/core";

export type Row = {
  readonly session: SessionSummary;
  readonly depth: number;
  readonly children: number;
  /** Open requests of the session, and of those below it that have no row of their own. */
  readonly waiting: number;
};

/** Newest first, sub-agents right below their parents in the order they were started; only those of `unfolded` are shown. */
export function rowsOf(sessions: readonly SessionSummary[], unfolded: ReadonlySet<string>): readonly Row[] {
  const known = new Set(sessions.map(({ sessionId }) => sessionId));
  const children = childrenOf(sessions);
  const rows: Row[] = [];
  const add = (session: SessionSummary, depth: number): void => {
    const below = children.get(session.sessionId) ?? [];
    const open = unfolded.has(session.sessionId);
    const waiting = open ? session.openRequests.length : waitingIn(session, children);
    rows.push({ session, depth, children: below.length, waiting });
    if (open) for (const child of below) add(child, depth + 1);
  };
  for (const session of sessions) if (session.parent === undefined || !known.has(session.parent)) add(session, 0);
  return rows;
}

function waitingIn(session: SessionSummary, children: ReadonlyMap<string, readonly SessionSummary[]>): number {
  const below = children.get(session.sessionId) ?? [];
  return below.reduce((sum, child) => sum + waitingIn(child, children), session.openRequests.length);
}

export function childrenOf(sessions: readonly SessionSummary[]): ReadonlyMap<string, readonly SessionSummary[]> {
  const children = new Map<string, SessionSummary[]>();
  for (const session of sessions.toReversed()) {
    if (session.parent === undefined) continue;
    const siblings = children.get(session.parent) ?? [];
    siblings.push(session);
    children.set(session.parent, siblings);
  }
  return children;
}

/** The session and all below it. */
export function familyOf(sessions: readonly SessionSummary[], sessionId: string): ReadonlySet<string> {
  const children = childrenOf(sessions);
  const family = new Set([sessionId]);
  for (const id of family) for (const child of children.get(id) ?? []) family.add(child.sessionId);
  return family;
}

export function nameOf({
  title,
  key,
  agent,
  sessionId,
}: Pick<SessionSummary, "title" | "key" | "agent" | "sessionId">): string {
  if (title !== undefined && title.trim() !== "") return title;
  if (key !== undefined && !/^(send|create|chat)\//.test(key)) return key;
  return `${agent} · ${sessionId.slice(-6)}`;
}
