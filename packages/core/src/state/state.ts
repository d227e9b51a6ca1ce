/** The state of a session as a pure fold of its facts. */

import type { Fact, FactOf, Limits } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import { INSTRUCTIONS_STEP } from "../words/keys.ts";
import { addUsage, NO_USAGE, tokensOf, type ToolCallPart, type Usage } from "../words/message.ts";
import { grantedBudget, type OpenRequest } from "../words/request.ts";
import { afterTask, resumed, suspended } from "./deadline.ts";
import { finishedStep, startedStep, sumOfLost, withLostReservation } from "./run-steps.ts";
import type { CallState, QueuedInput, RunState, SessionState, TaskState, SessionStatus } from "./session-state.ts";

/** Raised whenever the shape or meaning of the state changes: snapshots of another version are dropped. */
export const STATE_VERSION = 7;

/** The state after the fact `session.created`, which is the first of every session. */
export function initialState(fact: FactOf<"session.created">): SessionState {
  return {
    sessionId: fact.sessionId,
    agent: fact.agent,
    openedWith: fact.agent,
    ...(fact.sessionKey !== undefined && { key: fact.sessionKey }),
    ...(fact.title !== undefined && { title: fact.title }),
    ...(fact.workspace !== undefined && { workspace: fact.workspace }),
    ...(fact.parent !== undefined && { parent: fact.parent }),
    metadata: fact.metadata ?? {},
    mode: fact.mode,
    rules: [],
    createdAt: fact.at,
    head: fact.seq,
    queue: [],
    requests: {},
    tasks: {},
    usage: NO_USAGE,
    contextTokens: 0,
    instructions: {},
    compactedThrough: 0,
  };
}

/** The state after one more fact. Pure; facts come in the order of their `seq`. */
export function reduce(state: SessionState, fact: Fact): SessionState {
  return { ...state, ...change(state, fact), head: fact.seq };
}

/** What a list shows: whether the session works, waits for a person, or waits for something else. */
export function statusOf(state: SessionState): SessionStatus {
  if (state.run === undefined) return state.queue.length === 0 ? "idle" : "running";
  if (state.run.suspendedAt === undefined) return "running";
  return Object.keys(state.requests).length > 0 ? "waiting" : "parked";
}

/** `runId`: of the run that asks, for a fact that names none. */
export function toOpenRequest(
  fact: FactOf<"request.opened">,
  sessionId: string,
  runId: string | undefined,
): OpenRequest {
  const { requestId, request: body, at: openedAt, expiresAt } = fact;
  return { requestId, sessionId, runId: fact.runId ?? runId ?? "", body, openedAt, expiresAt };
}

type Change = Partial<SessionState>;

function change(state: SessionState, fact: Fact): Change {
  switch (fact.type) {
    case "session.created":
      return initialState(fact);
    case "session.updated":
      return updated(state, fact);
    case "input.accepted":
      return {
        queue: [...state.queue, queuedInput(state, fact)],
        ...(fact.ifBusy === "interrupt" && inRun(state, (run) => resumed(run, fact.at))),
      };
    case "input.withdrawn":
      return { queue: state.queue.filter((input) => input.inputId !== fact.inputId) };
    case "run.started":
      return { run: startedRun(state, fact) };
    case "run.resumed":
      return inRun(state, (run) => withLostReservation(resumed(run, fact.at)));
    case "run.suspended":
      return inRun(state, (run) => suspended(run, fact.at, fact.on));
    case "run.finished":
      return finishedRun(state, fact);
    case "prefix.set":
      return { prefix: { hash: fact.hash, blob: fact.blob, base: fact.base ?? fact.hash, agent: state.agent } };
    case "turn.started":
      return startedTurn(state, fact);
    case "turn.finished":
      return finishedTurn(state, fact);
    case "message.added":
      return addedMessage(state, fact);
    case "tool.started":
      return startedCall(state, fact);
    case "tool.finished":
      return finishedCall(state, fact);
    case "step.started":
      return inRun(state, (run) => startedStep(run, fact));
    case "step.finished":
      return {
        ...inRun(state, (run) => finishedStep(resumed(run, fact.at), fact)),
        ...(fact.usage !== undefined && { usage: addUsage(state.usage, fact.usage) }),
        ...(fact.name.startsWith(INSTRUCTIONS_STEP) && instructed(state, fact)),
      };
    case "request.opened":
      return openedRequest(state, fact);
    case "request.resolved":
      return resolvedRequest(state, fact);
    case "context.compacted":
      return compacted(state, fact);
    case "task.started":
      return startedTask(state, fact);
    case "task.finished":
      return finishedTask(state, fact);
    case "plan.updated":
    case "data":
      return {};
    default:
      fact satisfies never; // a fact of a newer version: readers skip what they do not know
      return {};
  }
}

function inRun(state: SessionState, next: (run: RunState) => RunState): Change {
  return state.run === undefined ? {} : { run: next(state.run) };
}

function startedTurn(state: SessionState, fact: FactOf<"turn.started">): Change {
  const { turn, attempt, reserved, model, prefixHash, lost, at } = fact;
  const started = { number: turn, attempt, model, prefixHash, ...(reserved !== undefined && { reserved }) };
  return inRun(state, (run) => ({
    ...resumed(run, at),
    turn: started,
    unsyncedEffects: false,
    lost: sumOfLost(run.lost, lost),
  }));
}

function startedCall(state: SessionState, fact: FactOf<"tool.started">): Change {
  return inRun(state, (run) => ({
    ...resumed(run, fact.at),
    calls: changedCall(run, fact.callId, (call) => ({
      ...call,
      status: "started",
      intent: fact,
      attempts: call.attempts + 1,
    })),
  }));
}

function changedCall(run: RunState, callId: string, change: (call: CallState) => CallState): readonly CallState[] {
  const index = run.calls.findIndex(({ part }) => part.callId === callId);
  const call = run.calls[index];
  return call === undefined ? run.calls : run.calls.with(index, change(call));
}

function updated(state: SessionState, fact: FactOf<"session.updated">): Change {
  return {
    ...(fact.title !== undefined && { title: fact.title }),
    ...(fact.metadata !== undefined && { metadata: { ...state.metadata, ...fact.metadata } }),
    ...(fact.mode !== undefined && { mode: fact.mode }),
    ...(fact.model !== undefined && { model: fact.model }),
    ...(fact.addRules !== undefined && { rules: [...state.rules, ...fact.addRules] }),
    ...(fact.usage !== undefined && {
      usage: addUsage(state.usage, fact.usage),
      ...inRun(state, (run) => spentBeside(run, fact.usage)),
    }),
  };
}

/** What was asked beside the turns of a run counts in its limits, not in its usage. */
function spentBeside(run: RunState, usage: Usage = NO_USAGE): RunState {
  if (run.limits.tokens === undefined && run.limits.microUsd === undefined) return run;
  return { ...run, lost: sumOfLost(run.lost, { tokens: tokensOf(usage), microUsd: usage.costMicroUsd ?? 0 }) };
}

function queuedInput(state: SessionState, fact: FactOf<"input.accepted">): QueuedInput {
  const interrupts = fact.ifBusy === "interrupt" ? state.run?.id : undefined;
  return {
    inputId: fact.inputId,
    runId: fact.runId ?? fact.inputId,
    parts: fact.parts,
    ifBusy: fact.ifBusy,
    ...(interrupts !== undefined && { interrupts }),
    ...(fact.overrides !== undefined && { overrides: fact.overrides }),
    actor: fact.actor,
  };
}

function startedRun(state: SessionState, fact: FactOf<"run.started">): RunState {
  const input = state.queue.find((queued) => queued.inputId === fact.inputId);
  return {
    id: fact.runId ?? fact.inputId,
    inputId: fact.inputId,
    agent: state.agent,
    actor: input?.actor ?? { id: "unknown", door: "unknown" },
    ...(input?.overrides !== undefined && { overrides: input.overrides }),
    limits: fact.limits,
    startedAt: fact.at,
    startedSeq: fact.seq,
    suspendedMs: 0,
    turns: 0,
    calls: [],
    callsMade: 0,
    unanswered: false,
    unsyncedEffects: false,
    settled: false,
    usage: NO_USAGE,
    childUsage: NO_USAGE,
    childCalls: 0,
    lost: {},
    spawned: 0,
    steps: {},
    stepFailures: {},
    stepIntents: {},
    stepReserved: {},
    answers: {},
  };
}

function finishedRun(state: SessionState, fact: FactOf<"run.finished">): Change {
  const { run } = state;
  return {
    run: undefined,
    queue: state.queue.filter((input) => input.inputId !== run?.inputId),
    requests: {},
    lastRun: {
      id: fact.runId ?? run?.id ?? "",
      reason: fact.reason,
      ...(fact.error !== undefined && { error: fact.error }),
    },
  };
}

function finishedTurn(state: SessionState, fact: FactOf<"turn.finished">): Change {
  const tokens = tokensOf(fact.usage);
  // an answer that had begun, or may have, was paid for although nobody said how much it was
  const unknown = tokens === 0 && (fact.firstDeltaMs !== undefined || fact.reason === "interrupted");
  const { model = "", prefixHash = "" } = state.run?.turn ?? {};
  const next = inRun(state, (run) => ({
    ...run,
    turns: fact.turn,
    lost: unknown ? sumOfLost(run.lost, run.turn?.reserved) : run.lost,
    turn: {
      number: fact.turn,
      attempt: run.turn?.attempt ?? 1,
      model,
      prefixHash,
      reason: fact.reason,
      ...(fact.error !== undefined && { error: fact.error }),
    },
    usage: addUsage(run.usage, fact.usage),
    unanswered: false,
    steps: {},
    stepFailures: {},
    stepIntents: {},
    answers: {},
  }));
  const usage = addUsage(state.usage, fact.usage);
  if (tokens === 0) return { ...next, usage };
  const counted = { messageId: `${fact.runId}/turn/${fact.turn}/message`, model, prefixHash };
  return { ...next, usage, contextTokens: tokens, counted };
}

function startedTask(state: SessionState, fact: FactOf<"task.started">): Change {
  const { taskId, callId, childSessionId, title, background, grant } = fact;
  if (childSessionId === undefined) return {};
  const task: TaskState = {
    taskId,
    runId: fact.runId ?? state.run?.id ?? "",
    ...(callId !== undefined && { callId }),
    childSessionId,
    title,
    background,
    ...(grant !== undefined && { grant }),
  };
  return {
    tasks: { ...state.tasks, [taskId]: task },
    ...inRun(state, (run) => ({ ...run, spawned: run.spawned + 1 })),
  };
}

/** The end of a task is a finished step of the call that waits for it. */
function finishedTask(state: SessionState, fact: FactOf<"task.finished">): Change {
  const { [fact.taskId]: task, ...tasks } = state.tasks;
  if (task === undefined) return {};
  const { status, summary, output, usage = NO_USAGE, calls = 0, lost, wallMs } = fact;
  const left = Object.values(tasks).some(({ runId, background }) => runId === task.runId && !background);
  const value: Json = { status, text: summary, ...(output !== undefined && { output }) };
  return {
    tasks,
    ...inRun(state, (run) =>
      run.id === task.runId
        ? {
            ...(task.background ? resumed(run, fact.at) : afterTask(resumed(run, fact.at), wallMs, !left)),
            childUsage: addUsage(run.childUsage, usage),
            childCalls: run.childCalls + Math.min(calls, task.grant?.calls ?? calls), // what was refused it counts too
            lost: sumOfLost(run.lost, lost),
            steps: { ...run.steps, [fact.taskId]: value },
          }
        : run,
    ),
  };
}

function addedMessage(state: SessionState, fact: FactOf<"message.added">): Change {
  const { message, inputId } = fact;
  if (message.role === "assistant") {
    const calls = message.parts.filter((part) => part.type === "tool-call" && part.by !== "provider");
    // an assistant message without a turn was made by a hook or closes an interrupted run
    if (calls.length === 0) return fact.turn === undefined ? inRun(state, (run) => ({ ...run, settled: true })) : {};
    return inRun(state, (run) => ({
      ...run,
      calls: calls.map((part) => ({ part: part as ToolCallPart, status: "proposed", attempts: 0 })), // filtered above
      callsMade: run.callsMade + calls.length,
    }));
  }
  const taken = inputId === undefined ? {} : { queue: state.queue.filter((input) => input.inputId !== inputId) };
  return { ...taken, ...inRun(state, (run) => ({ ...run, unanswered: true, settled: false })) };
}

function finishedCall(state: SessionState, { callId, at, handoff }: FactOf<"tool.finished">): Change {
  const next = inRun(state, (run) => {
    let { unsyncedEffects } = run;
    const calls = changedCall(run, callId, (call) => {
      unsyncedEffects ||= call.intent !== undefined && call.intent.rerun !== "safe";
      return { ...call, status: "finished", ...(handoff !== undefined && { handoff }) };
    });
    return { ...resumed(run, at), calls, unsyncedEffects };
  });
  const agent = takesOver(next.run?.calls ?? []);
  return agent === undefined ? next : { ...next, agent };
}

/** The calls of a turn are all of the agent that made them: another one is in charge when none of them is left. */
function takesOver(calls: readonly CallState[]): string | undefined {
  const taken = calls.find(({ handoff }) => handoff !== undefined);
  return taken !== undefined && calls.every(({ status }) => status === "finished") ? taken.handoff : undefined;
}

function instructed(state: SessionState, { name, value }: FactOf<"step.finished">): Change {
  if (typeof value !== "string") return {};
  const agent = name.slice(INSTRUCTIONS_STEP.length + 1) || state.openedWith; // old logs name nobody
  return { instructions: { ...state.instructions, [agent]: value } };
}

/** What was counted is no longer what is sent; a turn that did not fit is void. */
function compacted(state: SessionState, { throughSeq, tokensAfter, trigger }: FactOf<"context.compacted">): Change {
  const { run } = state;
  const next = { compactedThrough: throughSeq, contextTokens: tokensAfter, counted: undefined };
  if (run === undefined || trigger !== "overflow") return next;
  const { turn: _failed, ...rest } = run;
  return { ...next, run: { ...rest, unanswered: true, madeRoomAt: run.turns } };
}

function addLimits(limits: Limits, more: Limits): Limits {
  const sum: { -readonly [K in keyof Limits]: Limits[K] } = { ...limits };
  for (const kind of ["tokens", "microUsd", "calls"] as const) {
    if (limits[kind] !== undefined) sum[kind] = limits[kind] + (more[kind] ?? 0);
  }
  return sum;
}

function openedRequest(state: SessionState, fact: FactOf<"request.opened">): Change {
  const open = toOpenRequest(fact, state.sessionId, state.run?.id);
  return { requests: { ...state.requests, [fact.requestId]: open } };
}

function resolvedRequest(state: SessionState, fact: FactOf<"request.resolved">): Change {
  const { [fact.requestId]: _closed, ...requests } = state.requests;
  const body = state.requests[fact.requestId]?.body;
  const more = body === undefined ? undefined : grantedBudget(body, fact.answer);
  const resolved = inRun(state, (run) => ({
    ...resumed(run, fact.at),
    ...(more !== undefined && { limits: addLimits(run.limits, more) }),
    answers: { ...run.answers, [fact.requestId]: { answer: fact.answer, by: fact.by } },
  }));
  return { requests, ...resolved };
}
