/** What stands beside a conversation: status, queue, open questions, sub-agents, plan and numbers. A fold from the door's state on. */

import type {
  Fact,
  Limits,
  OpenRequest,
  PlanEntry,
  QueuedInput,
  SessionStatus,
  SessionView,
  TaskState,
  Usage,
} from "@capstan/core";

export type Overview = {
  readonly sessionId: string;
  readonly agent: string;
  readonly key?: string;
  readonly title?: string;
  readonly mode: string;
  readonly model?: string;
  readonly folder?: string;
  readonly parent?: string;
  readonly createdAt: number;
  readonly head: number;
  readonly status: SessionStatus;
  readonly run?: { readonly id: string; readonly startedAt: number; readonly turns: number; readonly limits: Limits };
  readonly queue: readonly Pick<QueuedInput, "inputId" | "parts" | "ifBusy">[];
  readonly requests: readonly OpenRequest[];
  readonly tasks: readonly Pick<TaskState, "taskId" | "childSessionId" | "title">[];
  readonly plan: readonly PlanEntry[];
  readonly usage: Usage;
  readonly contextTokens: number;
  readonly contextSize?: number;
};

export function overviewOf(state: SessionView): Overview {
  const { run, sessionId, agent, mode, createdAt, head, usage, contextTokens, status } = state;
  return {
    sessionId,
    agent,
    mode,
    createdAt,
    head,
    usage,
    contextTokens,
    status,
    ...(state.key !== undefined && { key: state.key }),
    ...(state.title !== undefined && { title: state.title }),
    ...(state.model !== undefined && { model: state.model }),
    ...(state.workspace !== undefined && { folder: state.workspace.root }),
    ...(state.parent !== undefined && { parent: state.parent.sessionId }),
    ...(run != null && { run: { id: run.id, startedAt: run.startedAt, turns: run.turns, limits: run.limits } }),
    queue: state.queue,
    requests: Object.values(state.requests),
    tasks: Object.values(state.tasks),
    plan: [],
  };
}

/** Facts up to `head` are in it already; of those only the newest plan and model are taken. */
export function withFact(before: Overview, fact: Fact): Overview {
  if (fact.type === "plan.updated") return { ...before, plan: fact.entries, head: Math.max(before.head, fact.seq) };
  if (fact.type === "turn.started" && fact.seq <= before.head) return { ...before, model: fact.model };
  if (fact.seq <= before.head) return before;
  const after = { ...before, ...changeOf(before, fact), head: fact.seq };
  return { ...after, status: statusOf(before, after, fact) };
}

function changeOf(before: Overview, fact: Fact): Partial<Overview> {
  switch (fact.type) {
    case "session.updated": {
      const { title, mode, model } = fact;
      return { ...(title !== undefined && { title }), ...(mode !== undefined && { mode }), ...(model && { model }) };
    }
    case "input.accepted": {
      const { inputId, parts, ifBusy } = fact;
      return { queue: [...before.queue, { inputId, parts, ifBusy }] };
    }
    case "input.withdrawn":
      return without(before, fact.inputId);
    case "run.started": {
      const { runId: id = "", at: startedAt, limits, inputId } = fact;
      return { ...without(before, inputId), run: { id, startedAt, turns: 0, limits } };
    }
    case "message.added":
      return fact.inputId === undefined ? {} : without(before, fact.inputId);
    case "turn.started":
      return { model: fact.model };
    case "turn.finished":
      return turned(before, fact.usage);
    case "request.opened":
      return { requests: [...before.requests, openRequest(before, fact)] };
    case "request.resolved":
      return { requests: before.requests.filter(({ requestId }) => requestId !== fact.requestId) };
    case "task.started": {
      const { taskId, childSessionId, title } = fact;
      return childSessionId === undefined ? {} : { tasks: [...before.tasks, { taskId, childSessionId, title }] };
    }
    case "task.finished":
      return { tasks: before.tasks.filter(({ taskId }) => taskId !== fact.taskId) };
    case "tool.finished":
      return fact.handoff === undefined ? {} : { agent: fact.handoff };
    default:
      return {};
  }
}

function statusOf(before: Overview, { requests, queue, run }: Overview, fact: Fact): SessionStatus {
  if (fact.type === "run.finished") return queue.length > 0 ? "running" : "idle";
  if (fact.type === "run.suspended") return requests.length > 0 ? "waiting" : "parked";
  if (fact.type === "run.started" || fact.type === "run.resumed" || fact.type === "turn.started") return "running";
  if (fact.type === "input.accepted" && run === undefined) return "running";
  if (fact.type === "input.withdrawn" && run === undefined && queue.length === 0) return "idle";
  return before.status;
}

/** A finished run is taken out after its end was counted. */
export function withoutRun({ run: _run, ...rest }: Overview): Overview {
  return rest;
}

function without(before: Overview, inputId: string): Pick<Overview, "queue"> {
  return { queue: before.queue.filter((input) => input.inputId !== inputId) };
}

function turned(before: Overview, usage: Usage): Partial<Overview> {
  const tokens = tokensOf(usage);
  const run = before.run === undefined ? {} : { run: { ...before.run, turns: before.run.turns + 1 } };
  return { ...run, usage: sum(before.usage, usage), ...(tokens > 0 && { contextTokens: tokens }) };
}

function openRequest(before: Overview, fact: Extract<Fact, { type: "request.opened" }>): OpenRequest {
  const { requestId, request: body, at: openedAt, expiresAt, runId = "" } = fact;
  return { requestId, sessionId: before.sessionId, runId, body, openedAt, expiresAt };
}

export function tokensOf({ inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 }: Usage): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
}

function sum(left: Usage, right: Usage): Usage {
  const names = ["cacheReadTokens", "cacheWriteTokens", "reasoningTokens", "costMicroUsd"] as const;
  const rest = names.flatMap((name) => {
    const value = (left[name] ?? 0) + (right[name] ?? 0);
    return left[name] === undefined && right[name] === undefined ? [] : [[name, value] as const];
  });
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    ...Object.fromEntries(rest),
  };
}
