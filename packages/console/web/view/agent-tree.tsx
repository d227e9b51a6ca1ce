/** The sub-agents of a session, from the outermost session down. */

import { type ReactElement, useMemo } from "react";
import type { SessionSummary } from "@capstan/core";
import { tokensOf } from "../data/overview.ts";
import { childrenOf, nameOf } from "../data/session-tree.ts";
import { count } from "../format.ts";
import { useSessions } from "./console-context.ts";
import { Group } from "./group.tsx";
import { hashOf } from "../data/route.ts";
import { StatusDot } from "./status.tsx";

const MOST = 200;

type Node = { readonly session: SessionSummary; readonly depth: number };

export function AgentTree({ sessionId }: { readonly sessionId: string }): ReactElement | null {
  const { sessions } = useSessions();
  const nodes = useMemo(() => nodesOf(sessions, sessionId), [sessions, sessionId]);
  if (nodes.length < 2) return null;
  return (
    <Group title={`Agents (${nodes.length})`}>
      <ul className="space-y-px">
        {nodes.slice(0, MOST).map(({ session, depth }) => (
          <li key={session.sessionId} style={{ paddingLeft: Math.min(depth, 6) * 14 }}>
            <a
              href={hashOf({ page: "session", sessionId: session.sessionId })}
              aria-current={session.sessionId === sessionId ? "page" : undefined}
              className="flex items-center gap-2 rounded-md px-2 py-1 text-[13px] hover:bg-sunken aria-[current]:bg-accent-wash"
            >
              <StatusDot status={session.openRequests.length > 0 ? "waiting" : session.status} />
              <span className="min-w-0 flex-1 truncate">{nameOf(session)}</span>
              <span className="shrink-0 text-[11.5px] text-muted tabular-nums">{count(tokensOf(session.usage))}</span>
            </a>
          </li>
        ))}
      </ul>
    </Group>
  );
}

function nodesOf(sessions: readonly SessionSummary[], sessionId: string): readonly Node[] {
  const byId = new Map(sessions.map((session) => [session.sessionId, session]));
  let root = byId.get(sessionId);
  for (const seen = new Set<string>(); root?.parent !== undefined && byId.has(root.parent) && !seen.has(root.parent);) {
    seen.add(root.parent);
    root = byId.get(root.parent);
  }
  const children = childrenOf(sessions);
  const nodes: Node[] = [];
  const add = (session: SessionSummary, depth: number): void => {
    nodes.push({ session, depth });
    for (const child of children.get(session.sessionId) ?? []) add(child, depth + 1);
  };
  if (root !== undefined) add(root, 0);
  return nodes;
}
