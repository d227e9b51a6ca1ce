/** Questions to people: opening them, waiting for one's answer, and asking about a doubt. */

import type { ResolvedRequest, SessionState } from "../state/session-state.ts";
import type { NewFact } from "../words/event.ts";
import { type Json, sha256 } from "../words/json.ts";
import { type TimerSetting, expiryTimer } from "../words/keys.ts";
import { LIMITS } from "../words/limits.ts";
import type { AnswerTo, RequestBody } from "../words/request.ts";
import { answerHere } from "./answer-here.ts";
import { waitFor } from "./await-request.ts";
import type { Hold } from "./hold.ts";
import { approversOf, canAsk } from "./policy.ts";

/** The same question of the same session has the same id after a restart. */
export function requestIdOf(sessionId: string, name: string): string {
  return `req_${sha256(`${sessionId}/${name}`).slice(0, 24)}`;
}

/** The id under which the question stands now: closed because its tool had changed, it is another one when it is asked anew. */
function standingId({ sessionId, run }: Pick<SessionState, "sessionId" | "run">, name: string): string {
  let id = requestIdOf(sessionId, name);
  for (let again = name; run?.answers[id]?.by.id === "rule"; id = requestIdOf(sessionId, again)) again += "/again";
  return id;
}

/** Opens requests in one synced append. Those that are open already stay as they are. */
export async function openRequests(
  hold: Hold,
  requests: readonly { readonly name: string; readonly body: RequestBody }[],
): Promise<void> {
  const { state, run, definitions, agent } = hold;
  const now = hold.journal.now();
  const waitMs = agent.permission.waitMs ?? definitions.permission.waitMs ?? LIMITS.requestTtlMs;
  const facts: NewFact[] = [];
  const timers: TimerSetting[] = [];
  for (const { name, body } of requests) {
    const requestId = standingId(state, name);
    const expiresAt = now + (body.type === "permission" ? waitMs : LIMITS.requestTtlMs);
    if (state.requests[requestId] !== undefined || run.answers[requestId] !== undefined) continue;
    facts.push({
      type: "request.opened",
      key: `request/${requestId}`,
      runId: run.id,
      requestId,
      request: body,
      expiresAt,
    });
    timers.push({ name: expiryTimer(requestId), at: expiresAt });
  }
  if (facts.length > 0) await hold.append(facts, { sync: true, timers });
  answerHere(hold);
}

type Answered<Type extends RequestBody["type"]> = Pick<ResolvedRequest, "by"> & {
  readonly answer: AnswerTo<Type>;
  readonly requestId: string;
};

/** Opens the request unless it was, and waits for its answer. Rejects when the run is halted or the hold ends. */
export async function ask<Type extends RequestBody["type"]>(
  hold: Hold,
  callId: string,
  name: string,
  body: Extract<RequestBody, { readonly type: Type }>,
): Promise<Answered<Type>> {
  const requestId = standingId(hold.state, name);
  await openRequests(hold, [{ name, body }]);
  const resolved = await waitFor(hold, callId, requestId, () => hold.state.run?.answers[requestId]);
  if (resolved.answer.type !== body.type) throw new Error(`a ${body.type} request was answered with another type`); // `fits` refuses that
  return { ...resolved, answer: resolved.answer as AnswerTo<Type>, requestId };
}

/** For the body of a request by which something is let happen. */
export function approvedBy(hold: Hold): { readonly approvers?: readonly string[] } {
  const approvers = approversOf(hold);
  return approvers === undefined ? {} : { approvers };
}

type Doubt = {
  readonly callId: string;
  readonly tool: string;
  readonly input: Json;
  readonly startedAt: number;
  /** The same for the same doubt, whenever it is asked about. */
  readonly name: string;
};

/** Asks what became of a call that a crash left open; `unknown` when nobody can be asked or nobody answered. */
export async function askDoubt(hold: Hold, doubt: Doubt): Promise<"run-again" | "it-happened" | "skip" | "unknown"> {
  if (!canAsk(hold)) return "unknown";
  const { callId, tool, input, startedAt, name } = doubt;
  const { answer, by } = await ask(hold, callId, name, {
    type: "doubt",
    callId,
    tool,
    input,
    startedAt,
    ...approvedBy(hold),
  });
  return by.id === "expiry" ? "unknown" : answer.outcome;
}
