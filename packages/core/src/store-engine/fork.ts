/** Copying a log up to a point into a new session: what was open there is closed as cancelled, no effect is inherited. */

import { finishedFact } from "../state/call-end.ts";
import { expiryAnswer } from "../state/closing-facts.ts";
import type { SessionState } from "../state/session-state.ts";
import { initialState, reduce } from "../state/state.ts";
import type { Fact, FactOf, NewFact } from "../words/event.ts";
import { errorOutput } from "../words/message.ts";
import type { Actor } from "../words/request.ts";

type ForkOptions = { readonly into: string; readonly actor: Actor; readonly now: number };

/** The facts of the fork, numbered from 1. Its first names where it comes from; it has no key and no queue. */
export function forkFacts(facts: readonly Fact[], { into, actor, now }: ForkOptions): readonly Fact[] {
  const source = facts[0];
  if (source?.type !== "session.created") throw new Error("a log begins with session.created");
  const { sessionKey: _stays, parent: _notAChild, ...created } = source;
  const first: FactOf<"session.created"> = {
    ...created,
    sessionId: into,
    forkedFrom: { sessionId: source.sessionId, seq: facts.at(-1)?.seq ?? 1 },
    actor,
    seq: 1,
    at: now,
  };
  const copied = facts.slice(1).map((fact, index): Fact => ({ ...fact, seq: index + 2 }));
  const state = copied.reduce(reduce, initialState(first));
  const closing = closeOpen(state, actor).map((fact, index): Fact => ({
    ...fact,
    seq: copied.length + 2 + index,
    at: now,
  }));
  return [first, ...copied, ...closing];
}

function closeOpen(state: SessionState, actor: Actor): readonly NewFact[] {
  const { run } = state;
  const withdrawn = state.queue
    .filter((input) => input.inputId !== run?.inputId)
    .map(({ inputId }): NewFact => ({ type: "input.withdrawn", key: `fork/${inputId}`, inputId, actor }));
  const tasks = Object.values(state.tasks).map(({ taskId, runId: by }): NewFact => {
    const summary = "It goes on in the session that this one was forked from.";
    return { type: "task.finished", key: `fork/${taskId}`, runId: by, taskId, status: "lost", summary };
  });
  if (run === undefined) return [...withdrawn, ...tasks];
  const runId = run.id;
  const requests = Object.values(state.requests).map(({ requestId, body }): NewFact => {
    const answer = expiryAnswer(body);
    return { type: "request.resolved", key: `fork/${requestId}`, runId, requestId, answer, by: { id: "interrupt" } };
  });
  const calls = run.calls
    .filter((call) => call.status !== "finished")
    .map(({ part }): NewFact => {
      const output = errorOutput("Cancelled: the session was forked before this call ended.");
      return { ...finishedFact(runId, part, { status: "cancelled", output }), key: `fork/${part.callId}` };
    });
  const finished: NewFact = {
    type: "run.finished",
    key: `fork/${runId}`,
    runId,
    reason: "interrupted",
    usage: run.usage,
    turns: run.turns,
  };
  return [...requests, ...tasks, ...calls, ...withdrawn, finished];
}
