/** The summary of a session that lists show: a pure fold kept in the append transaction. */

import type { SessionSummary } from "../ports/store.ts";
import { toOpenRequest } from "../state/state.ts";
import type { Fact, FactOf } from "../words/event.ts";
import { addUsage, NO_USAGE } from "../words/message.ts";

/** The first summary of a session, of its `session.created` fact. */
export function firstSummary(fact: FactOf<"session.created">): SessionSummary {
  return {
    sessionId: fact.sessionId,
    agent: fact.agent,
    ...(fact.sessionKey !== undefined && { key: fact.sessionKey }),
    ...(fact.actor.tenant !== undefined && { tenant: fact.actor.tenant }),
    ...(fact.title !== undefined && { title: fact.title }),
    ...(fact.workspace !== undefined && { workspace: fact.workspace }),
    ...(fact.parent !== undefined && { parent: fact.parent.sessionId }),
    status: "idle",
    queued: 0,
    openRequests: [],
    usage: NO_USAGE,
    createdAt: fact.at,
    updatedAt: fact.at,
    head: fact.seq,
  };
}

/** The same object when the fact changes nothing that a list shows. `head` and `updatedAt` are set by the store's writer. */
export function summarize(summary: SessionSummary, fact: Fact): SessionSummary {
  switch (fact.type) {
    case "session.updated":
      if (fact.title === undefined && fact.usage === undefined) return summary;
      return {
        ...summary,
        ...(fact.title !== undefined && { title: fact.title }),
        ...(fact.usage !== undefined && { usage: addUsage(summary.usage, fact.usage) }),
      };
    case "input.accepted":
      return accepted(summary, fact.ifBusy === "interrupt");
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
    case "step.finished":
      return awake(summary);
    case "tool.finished":
      return fact.handoff === undefined ? awake(summary) : { ...awake(summary), agent: fact.handoff };
    case "task.finished":
      return fact.runId === summary.runId ? awake(summary) : summary;
    case "request.opened":
      return {
        ...summary,
        openRequests: [...summary.openRequests, toOpenRequest(fact, summary.sessionId, summary.runId)],
        status: summary.status === "parked" ? "waiting" : summary.status,
      };
    case "request.resolved":
      return awake({
        ...summary,
        openRequests: summary.openRequests.filter((open) => open.requestId !== fact.requestId),
      });
    case "run.finished": {
      const { runId: _ended, ...rest } = summary;
      const usage = addUsage(summary.usage, fact.usage);
      return { ...rest, usage, openRequests: [], status: summary.queued > 0 ? "running" : "idle" };
    }
    default:
      return summary;
  }
}

/** An input that interrupts a waiting run is work to be done, also by whoever finds the session after a crash. */
function accepted(summary: SessionSummary, interrupts: boolean): SessionSummary {
  const next: SessionSummary = { ...summary, queued: summary.queued + 1 };
  if (summary.status === "idle") return { ...next, status: "running" };
  return interrupts ? awake(next) : next;
}

function awake(summary: SessionSummary): SessionSummary {
  return summary.status === "waiting" || summary.status === "parked" ? { ...summary, status: "running" } : summary;
}

function settled(summary: SessionSummary): SessionSummary {
  return summary.runId === undefined && summary.queued === 0 ? { ...summary, status: "idle" } : summary;
}
