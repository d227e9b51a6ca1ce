/** Questions to people: opening them, waiting for the answer, and waiting with nothing else to do until the hold parks. */

import { messageOf } from "./errors.ts";
import type { NewFact } from "./event.ts";
import type { Hold } from "./hold.ts";
import { type Json, sha256 } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { fits } from "./mail.ts";
import { effectiveMode } from "./policy.ts";
import type { Answer, OpenRequest, RequestBody } from "./request.ts";
import type { ResolvedRequest } from "./state.ts";

/** The same question of the same session has the same id after a restart. */
export function requestIdOf(sessionId: string, name: string): string {
  return `req_${sha256(`${sessionId}/${name}`).slice(0, 24)}`;
}

/** Opens requests in one synced append. Those that are open already stay as they are. */
export async function openRequests(
  hold: Hold,
  requests: readonly { readonly name: string; readonly body: RequestBody }[],
): Promise<readonly string[]> {
  const { state, definitions } = hold;
  const runId = state.run?.id;
  const expiresAt = definitions.clock.now() + LIMITS.requestTtlMs;
  const ids = requests.map(({ name }) => requestIdOf(state.sessionId, name));
  const fresh = requests.filter((_request, index) => isNew(hold, ids[index] ?? ""));
  const facts = fresh.map(({ name, body }): NewFact => {
    const requestId = requestIdOf(state.sessionId, name);
    return {
      type: "request.opened",
      key: `request/${requestId}`,
      ...(runId !== undefined && { runId }),
      requestId,
      request: body,
      expiresAt,
    };
  });
  const timers = fresh.map(({ name }) => ({ name: `expiry/${requestIdOf(state.sessionId, name)}`, at: expiresAt }));
  if (facts.length > 0) await hold.append(facts, { sync: true, timers });
  answerHere(hold);
  return ids;
}

function isNew(hold: Hold, requestId: string): boolean {
  return hold.state.requests[requestId] === undefined && hold.state.run?.answers[requestId] === undefined;
}

/** Hands open requests to the runtime's `onRequest`, once each in this hold. */
function answerHere(hold: Hold): void {
  const { onRequest } = hold.definitions;
  if (onRequest === undefined) return;
  for (const request of Object.values(hold.state.requests)) {
    if (hold.asked.has(request.requestId)) continue;
    hold.asked.add(request.requestId);
    hold.background(answerOne(hold, request, onRequest));
  }
}

async function answerOne(
  hold: Hold,
  request: OpenRequest,
  onRequest: NonNullable<Hold["definitions"]["onRequest"]>,
): Promise<void> {
  const { requestId } = request;
  const signal = AbortSignal.any([hold.journal.signal, hold.halted]);
  let answer: Answer | undefined;
  try {
    answer = await onRequest(request, { signal });
  } catch (error) {
    hold.notice("warning", "hook-failed", `onRequest failed: ${messageOf(error)}`);
  }
  if (hold.state.requests[requestId] === undefined) return;
  if (answer === undefined || !fits(request.body, answer)) {
    hold.definitions.unanswered(requestId);
    hold.notice("info", "request-open", "A request stays open: nobody here answered it");
    return;
  }
  const fact: NewFact = {
    type: "request.resolved",
    key: `request/${requestId}/resolved`,
    runId: request.runId,
    requestId,
    answer,
    by: { id: "on-request", door: "library" },
  };
  await hold.append([fact], { sync: true, timers: [{ name: `expiry/${requestId}`, at: undefined }] });
}

/** Opens the request unless it was, and waits for its answer. Rejects when the run is halted or the hold ends. */
export async function ask(hold: Hold, callId: string, name: string, body: RequestBody): Promise<ResolvedRequest> {
  const requestId = requestIdOf(hold.state.sessionId, name);
  await openRequests(hold, [{ name, body }]);
  return waitFor(hold, callId, requestId, () => hold.state.run?.answers[requestId]);
}

/** Marks the call as waiting for `id` until `found` gives something. */
export async function waitFor<T>(hold: Hold, callId: string, id: string, found: () => T | undefined): Promise<T> {
  try {
    for (;;) {
      const value = found();
      if (value !== undefined) return value;
      hold.halted.throwIfAborted();
      if (hold.waiting.get(callId) !== id) {
        hold.waiting.set(callId, id);
        hold.wake(); // once: two that wait would wake each other for ever
      }
      await hold.changed();
    }
  } finally {
    hold.waiting.delete(callId);
  }
}

export type Doubt = {
  readonly callId: string;
  readonly tool: string;
  readonly input: Json;
  readonly startedAt: number;
  /** The same for the same doubt, whenever it is asked about. */
  readonly name?: string;
};

/** Asks what became of a call that a crash left open; `unknown` when nobody can be asked or nobody answered. */
export async function askDoubt(hold: Hold, doubt: Doubt): Promise<"run-again" | "it-happened" | "skip" | "unknown"> {
  if (effectiveMode(hold.state) === "never-ask") return "unknown";
  const { callId, tool, input, startedAt, name = `${callId}/doubt/${startedAt}` } = doubt;
  const resolved = await ask(hold, callId, name, { type: "doubt", callId, tool, input, startedAt });
  if (resolved.answer.type !== "doubt" || resolved.by.id === "expiry") return "unknown";
  return resolved.answer.outcome;
}

/** Nothing can go on: says so in the log, keeps the hold for a while, then parks. */
export async function awaitAny(hold: Hold, ids: readonly string[]): Promise<"woken" | "parked"> {
  answerHere(hold);
  const { state } = hold;
  if (ids.some((id) => state.run?.answers[id] !== undefined)) return "woken";
  let { head } = state;
  const runId = state.run?.id;
  if (state.run !== undefined && state.run.suspendedAt === undefined) {
    const fact: NewFact = {
      type: "run.suspended",
      key: `${runId}/suspended/${head}`,
      ...(runId !== undefined && { runId }),
      on: ids,
    };
    head += 1;
    await hold.append([fact]);
  }
  return hold.idle(() => hold.halt !== undefined || hold.state.head > head);
}
