/** The summary of a session that lists show: a pure fold kept in the append transaction. */

import type { Fact } from "./event.ts";
import { addUsage } from "./message.ts";
import type { SessionSummary } from "./store.ts";

/** The same object when the fact changes nothing that a list shows. `head` and `updatedAt` are set by the store's writer. */
export function summarize(summary: SessionSummary, fact: Fact): SessionSummary {
  switch (fact.type) {
    case "session.updated":
      return fact.title === undefined ? summary : { ...summary, title: fact.title };
    case "input.accepted":
      return { ...summary, queued: summary.queued + 1, status: summary.status === "idle" ? "running" : summary.status };
    case "input.withdrawn":
      return settled({ ...summary, queued: Math.max(0, summary.queued - 1) });
    case "message.added":
      return fact.inputId === undefined ? summary : { ...summary, queued: Math.max(0, summary.queued - 1) };
    case "run.started":
      return { ...summary, status: "running", ...(fact.runId !== undefined && { runId: fact.runId }) };
    case "run.suspended":
      return { ...summary, status: summary.openRequests.length > 0 ? "waiting" : "parked" };
    case "run.resumed":
    case "turn.started":
    case "tool.started":
    case "tool.finished":
    case "step.finished":
      return awake(summary);
    case "turn.finished":
      return { ...summary, usage: addUsage(summary.usage, fact.usage) };
    case "request.opened":
      return {
        ...summary,
        openRequests: [...summary.openRequests, opened(summary, fact)],
        status: summary.status === "parked" ? "waiting" : summary.status,
      };
    case "request.resolved":
      return awake({
        ...summary,
        openRequests: summary.openRequests.filter((open) => open.requestId !== fact.requestId),
      });
    case "run.finished": {
      const { runId: _ended, ...rest } = summary;
      return { ...rest, openRequests: [], status: summary.queued > 0 ? "running" : "idle" };
    }
    default:
      return summary;
  }
}

function awake(summary: SessionSummary): SessionSummary {
  return summary.status === "waiting" || summary.status === "parked" ? { ...summary, status: "running" } : summary;
}

function settled(summary: SessionSummary): SessionSummary {
  return summary.runId === undefined && summary.queued === 0 ? { ...summary, status: "idle" } : summary;
}

function opened(
  summary: SessionSummary,
  fact: Extract<Fact, { type: "request.opened" }>,
): SessionSummary["openRequests"][number] {
  const { requestId, request, expiresAt, at } = fact;
  return {
    requestId,
    sessionId: summary.sessionId,
    runId: fact.runId ?? summary.runId ?? "",
    body: request,
    openedAt: at,
    expiresAt,
  };
}
