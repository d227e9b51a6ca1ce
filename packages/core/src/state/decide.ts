/** What a session does next: a pure function of its state, the whole control flow of an agent. */

import type { StopReason, TurnReason } from "../words/event.ts";
import { isSpent } from "./budget-left.ts";
import type { QueuedInput, RunState, SessionState } from "./session-state.ts";

export type Action =
  | { readonly type: "idle" }
  | { readonly type: "start-run"; readonly input: QueuedInput }
  | { readonly type: "take-input"; readonly input: QueuedInput }
  | { readonly type: "call-model"; readonly turn: number; readonly attempt: number }
  | { readonly type: "run-tools" }
  | { readonly type: "await-request"; readonly requestIds: readonly string[] }
  | { readonly type: "halt"; readonly reason: HaltReason }
  | { readonly type: "finish"; readonly reason: StopReason };

/** Why a run must end before its work is done: read from the mailbox, so that this function reads no clock. */
export type HaltReason = "interrupted" | "deadline" | "failed";

export function decide(state: SessionState, halt?: HaltReason): Action {
  const { run } = state;
  if (run === undefined) {
    const next = state.queue[0];
    return next === undefined ? { type: "idle" } : { type: "start-run", input: next };
  }
  if (run.settled) return { type: "finish", reason: "end-turn" };
  if (halt !== undefined) return { type: "halt", reason: halt };
  const first = state.queue.find((input) => input.inputId === run.inputId);
  if (first !== undefined) return { type: "take-input", input: first };
  const unfinished = run.calls.filter((call) => call.status !== "finished");
  if (unfinished.length > 0) return continueCalls(state, run);
  return atBoundary(state, run);
}

/** Calls are left: run what can run, or wait when each of them waits for a person. */
function continueCalls(state: SessionState, run: RunState): Action {
  const waiting = Object.values(state.requests);
  const waits = (callId: string): boolean => waiting.some(({ body }) => "callId" in body && body.callId === callId);
  const canRun = run.calls.some(
    (call) => call.status === "started" || (call.status === "proposed" && !waits(call.part.callId)),
  );
  if (canRun) return { type: "run-tools" };
  return { type: "await-request", requestIds: waiting.map((request) => request.requestId) };
}

/** Between two turns: limits end the run here, and a steer is heard here while the run has a turn left to answer it. */
function atBoundary(state: SessionState, run: RunState): Action {
  const { turn } = run;
  // the unfinished turn too waits for the money that it asked for
  const asked = Object.values(state.requests).filter(
    ({ body }) => body.type === "question" && body.budget !== undefined,
  );
  if (asked.length > 0) return { type: "await-request", requestIds: asked.map(({ requestId }) => requestId) };
  if (turn !== undefined && turn.reason === undefined) return callModel(state, run);
  if (turn?.reason !== undefined) {
    const failed = FAILURES[turn.reason];
    if (failed !== undefined) return { type: "finish", reason: failed };
  }
  const steer = state.queue.find((input) => input.ifBusy === "steer");
  if (steer !== undefined && limitReached(state, run) === undefined) return { type: "take-input", input: steer };
  if (run.unanswered || turn?.reason === "tool-calls" || turn?.reason === "paused") return callModel(state, run);
  return { type: "finish", reason: "end-turn" };
}

function callModel(state: SessionState, run: RunState): Action {
  const open = run.turn !== undefined && run.turn.reason === undefined ? run.turn : undefined;
  const exceeded = open === undefined ? limitReached(state, run) : undefined;
  if (exceeded !== undefined) return { type: "finish", reason: exceeded };
  return { type: "call-model", turn: open?.number ?? run.turns + 1, attempt: (open?.attempt ?? 0) + 1 };
}

function limitReached(state: SessionState, run: RunState): StopReason | undefined {
  const { limits } = run;
  if (limits.turns !== undefined && run.turns >= limits.turns) return "max-turns";
  return isSpent(state) ? "budget" : undefined;
}

/** How a turn ends its run whatever else waits; `undefined` where the run can go on. */
const FAILURES = {
  stop: undefined,
  "tool-calls": undefined,
  paused: undefined,
  other: undefined,
  length: "max-tokens",
  "content-filter": "content-filter",
  refusal: "refusal",
  "context-exceeded": "context-exceeded",
  interrupted: "interrupted",
  cut: "error",
  error: "error",
} as const satisfies Record<TurnReason, StopReason | undefined>;
