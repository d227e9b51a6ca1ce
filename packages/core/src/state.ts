/** The state of a session as a pure fold of its facts: all that `decide` needs, without the bodies of the conversation. */

import type {
  Fact,
  FactOf,
  IfBusy,
  Limits,
  Metadata,
  Overrides,
  Problem,
  StopReason,
  TurnReason,
  WorkspaceRef,
} from "./event.ts";
import type { Json } from "./json.ts";
import { addUsage, NO_USAGE, type Part, type ToolCallPart, type Usage } from "./message.ts";
import type { Actor, Answer, OpenRequest } from "./request.ts";
import type { SessionStatus } from "./store.ts";

/** Raised whenever the shape or meaning of the state changes: snapshots of another version are dropped. */
export const STATE_VERSION = 3;

/** The step whose value is the text of an agent's `instructions` function: it runs once a session. */
export const INSTRUCTIONS_STEP = "instructions";

export type QueuedInput = {
  readonly inputId: string;
  /** The run that this input starts, unless a running one takes it as a steer. */
  readonly runId: string;
  readonly parts: readonly Part[];
  readonly ifBusy: IfBusy;
  /** The run that it was sent to interrupt. */
  readonly interrupts?: string;
  readonly overrides?: Overrides;
  readonly actor: Actor;
};

export type CallState = {
  readonly part: ToolCallPart;
  readonly status: "proposed" | "started" | "finished";
  /** Intents written so far, the newest last in effect. */
  readonly attempts: number;
  readonly intent?: FactOf<"tool.started">;
};

export type TurnState = {
  readonly number: number;
  readonly attempt: number;
  /** Absent while the model call is unfinished. */
  readonly reason?: TurnReason;
  readonly error?: Problem;
};

export type RunState = {
  readonly id: string;
  readonly inputId: string;
  readonly actor: Actor;
  readonly overrides?: Overrides;
  readonly limits: Limits;
  readonly startedAt: number;
  /** Time spent suspended, not counted by deadlines; `suspendedAt` while it is. */
  readonly suspendedMs: number;
  readonly suspendedAt?: number;
  /** Finished turns. */
  readonly turns: number;
  readonly turn?: TurnState;
  readonly calls: readonly CallState[];
  readonly callsMade: number;
  /** Something was said to the model that it has not answered yet. */
  readonly unanswered: boolean;
  /** Results of `keyed` or `never` calls that are not synced yet: the next turn starts with a sync. */
  readonly unsyncedEffects: boolean;
  /** A hook answered the input itself: the model is not asked. */
  readonly settled: boolean;
  readonly usage: Usage;
  /** Finished steps and resolved requests of the unfinished action, by name and id. */
  readonly steps: { readonly [name: string]: Json };
  /** Messages of the finished steps that failed. */
  readonly stepFailures: { readonly [name: string]: string };
  readonly stepIntents: { readonly [name: string]: string };
  readonly answers: { readonly [requestId: string]: ResolvedRequest };
};
export type ResolvedRequest = { readonly answer: Answer; readonly by: FactOf<"request.resolved">["by"] };

export type SessionState = {
  readonly sessionId: string;
  readonly agent: string;
  readonly key?: string;
  readonly title?: string;
  readonly metadata: Metadata;
  readonly mode: string;
  readonly model?: string;
  /** Rules remembered for this session. */
  readonly rules: readonly string[];
  readonly workspace?: WorkspaceRef;
  readonly parent?: { readonly sessionId: string; readonly runId: string; readonly callId: string };
  readonly createdAt: number;
  /** `seq` of the newest fact. */
  readonly head: number;
  readonly queue: readonly QueuedInput[];
  readonly run?: RunState | undefined;
  readonly lastRun?: { readonly id: string; readonly reason: StopReason; readonly error?: Problem };
  readonly requests: { readonly [requestId: string]: OpenRequest };
  readonly usage: Usage;
  /** `base` is the hash of what the agent alone says. */
  readonly prefix?: { readonly hash: string; readonly blob: string; readonly base: string };
  /** What the agent's `instructions` function returned. */
  readonly instructions?: string;
  /** Facts up to here are summed up by the newest compaction. */
  readonly compactedThrough: number;
};

/** The state after the fact `session.created`, which is the first of every session. */
export function initialState(fact: FactOf<"session.created">): SessionState {
  return {
    sessionId: fact.sessionId,
    agent: fact.agent,
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
    usage: NO_USAGE,
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
      return inRun(state, (run) => resumed(run, fact.at));
    case "run.suspended":
      return inRun(state, (run) => ({ ...run, suspendedAt: run.suspendedAt ?? fact.at }));
    case "run.finished":
      return finishedRun(state, fact);
    case "prefix.set":
      return { prefix: { hash: fact.hash, blob: fact.blob, base: fact.base ?? fact.hash } };
    case "turn.started":
      return inRun(state, (run) => ({
        ...resumed(run, fact.at),
        turn: { number: fact.turn, attempt: fact.attempt },
        unsyncedEffects: false,
      }));
    case "turn.finished":
      return finishedTurn(state, fact);
    case "message.added":
      return addedMessage(state, fact);
    case "tool.started":
      return startedCall(state, fact);
    case "tool.finished":
      return finishedCall(state, fact);
    case "step.started":
      return inRun(state, (run) => ({ ...run, stepIntents: { ...run.stepIntents, [fact.name]: fact.attemptId } }));
    case "step.finished":
      return {
        ...inRun(state, (run) => finishedStep(resumed(run, fact.at), fact)),
        ...(fact.name === INSTRUCTIONS_STEP && typeof fact.value === "string" && { instructions: fact.value }),
      };
    case "request.opened":
      return openedRequest(state, fact);
    case "request.resolved":
      return resolvedRequest(state, fact);
    case "context.compacted":
      return { compactedThrough: fact.throughSeq };
    case "task.started":
    case "task.finished":
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

function startedCall(state: SessionState, fact: FactOf<"tool.started">): Change {
  return inRun(state, (run) => ({
    ...resumed(run, fact.at),
    calls: run.calls.map((call) =>
      call.part.callId === fact.callId
        ? { ...call, status: "started", intent: fact, attempts: call.attempts + 1 }
        : call,
    ),
  }));
}

function updated(state: SessionState, fact: FactOf<"session.updated">): Change {
  return {
    ...(fact.title !== undefined && { title: fact.title }),
    ...(fact.metadata !== undefined && { metadata: { ...state.metadata, ...fact.metadata } }),
    ...(fact.mode !== undefined && { mode: fact.mode }),
    ...(fact.model !== undefined && { model: fact.model }),
    ...(fact.addRules !== undefined && { rules: [...state.rules, ...fact.addRules] }),
  };
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
    actor: input?.actor ?? { id: "unknown", door: "unknown" },
    ...(input?.overrides !== undefined && { overrides: input.overrides }),
    limits: fact.limits,
    startedAt: fact.at,
    suspendedMs: 0,
    turns: 0,
    calls: [],
    callsMade: 0,
    unanswered: false,
    unsyncedEffects: false,
    settled: false,
    usage: NO_USAGE,
    steps: {},
    stepFailures: {},
    stepIntents: {},
    answers: {},
  };
}

function resumed(run: RunState, at: number): RunState {
  if (run.suspendedAt === undefined) return run;
  const { suspendedAt, ...awake } = run;
  return { ...awake, suspendedMs: run.suspendedMs + Math.max(0, at - suspendedAt) };
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
  const next = inRun(state, (run) => ({
    ...run,
    turns: fact.turn,
    turn: {
      number: fact.turn,
      attempt: run.turn?.attempt ?? 1,
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
  return { ...next, usage: addUsage(state.usage, fact.usage) };
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
  return { ...taken, ...inRun(state, (run) => ({ ...run, unanswered: true })) };
}

function finishedCall(state: SessionState, fact: FactOf<"tool.finished">): Change {
  return inRun(state, (run) => ({
    ...resumed(run, fact.at),
    calls: run.calls.map((call) => (call.part.callId === fact.callId ? { ...call, status: "finished" } : call)),
    unsyncedEffects:
      run.unsyncedEffects ||
      run.calls.some(
        (call) => call.part.callId === fact.callId && call.intent !== undefined && call.intent.rerun !== "safe",
      ),
  }));
}

function finishedStep(run: RunState, { name, value, failed }: FactOf<"step.finished">): RunState {
  const steps = { ...run.steps, [name]: value };
  return failed === undefined
    ? { ...run, steps }
    : { ...run, steps, stepFailures: { ...run.stepFailures, [name]: failed } };
}

function openedRequest(state: SessionState, fact: FactOf<"request.opened">): Change {
  const open = toOpenRequest(fact, state.sessionId, state.run?.id);
  return { requests: { ...state.requests, [fact.requestId]: open } };
}

function resolvedRequest(state: SessionState, fact: FactOf<"request.resolved">): Change {
  const { [fact.requestId]: _closed, ...requests } = state.requests;
  const resolved = inRun(state, (run) => ({
    ...resumed(run, fact.at),
    answers: { ...run.answers, [fact.requestId]: { answer: fact.answer, by: fact.by } },
  }));
  return { requests, ...resolved };
}
