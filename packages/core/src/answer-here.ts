/** Requests answered in this process: each is handed to the runtime's `onRequest` once in a hold. */

import { resolution } from "./closing-facts.ts";
import { messageOf } from "./errors.ts";
import type { Hold } from "./hold.ts";
import { fits } from "./request.ts";
import type { Answer, OpenRequest } from "./request.ts";

/** Hands open requests to the runtime's `onRequest`, once each in this hold. */
export function answerHere(hold: Hold): void {
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
  hold.answering += 1;
  try {
    answer = await onRequest(request, { signal });
  } catch (error) {
    hold.notice("warning", "hook-failed", `onRequest failed: ${messageOf(error)}`);
  } finally {
    hold.answering -= 1;
  }
  if (hold.state.requests[requestId] === undefined) return;
  if (answer === undefined || !fits(request.body, answer)) {
    hold.definitions.unanswered(requestId);
    hold.notice("info", "request-open", "A request stays open: nobody here answered it");
    return;
  }
  const { fact, timer } = resolution(requestId, answer, { id: "on-request", door: "library" }, request.runId);
  await hold.append([fact], { sync: true, timers: [timer] });
}
