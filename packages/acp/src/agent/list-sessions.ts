/** Pages of the sessions that an editor may take up again. */

import type { SessionInfo } from "@agentclientprotocol/sdk";
import type { Runtime, SessionSummary } from "@capstan/core";
import { ACP_LIMITS as LIMITS } from "../limits.ts";

export type SessionPage = { readonly sessions: SessionInfo[]; readonly nextCursor?: string };

/** Those of the agent that work in a folder, the newest first, without sub-agents. `cursor`: the id of the last one looked at. */
export async function listSessions(
  runtime: Runtime,
  {
    agent,
    cwd,
    cursor,
  }: { readonly agent: string; readonly cwd?: string | undefined; readonly cursor?: string | undefined },
): Promise<SessionPage> {
  const sessions: SessionInfo[] = [];
  let before = cursor;
  for (let looked = 0; looked < LIMITS.listLooked; looked += LIMITS.listPage) {
    const page = await runtime.sessions({ ...(before !== undefined && { before }), limit: LIMITS.listPage });
    for (const summary of page) {
      before = summary.sessionId;
      const info = infoOf(summary, agent);
      if (info === undefined || (cwd !== undefined && info.cwd !== cwd)) continue;
      sessions.push(info);
      if (sessions.length === LIMITS.listPage) return { sessions, nextCursor: before };
    }
    if (page.length < LIMITS.listPage) return { sessions };
  }
  return { sessions, ...(before !== undefined && { nextCursor: before }) };
}

/** Of the summary alone: to open a session would be to drive it. */
function infoOf(summary: SessionSummary, agent: string): SessionInfo | undefined {
  const { sessionId, parent, title, updatedAt, workspace, status } = summary;
  if (parent !== undefined || workspace === undefined || status === "quarantined" || summary.agent !== agent)
    return undefined;
  const time = new Date(updatedAt).toISOString();
  return { sessionId, cwd: workspace.root, ...(title !== undefined && { title }), updatedAt: time };
}
