/** Requests answered in this process. */

import { storable } from "../ports/check-input.ts";
import { resolution } from "../state/closing-facts.ts";
import { messageOf } from "../words/errors.ts";
import { fits, mayAnswer, type Answer, type OpenRequest } from "../words/request.ts";
import type { Hold } from "./hold.ts";

const HERE = { id: "on-request", door: "library" };

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
  if (!mayAnswer(request.body, HERE)) return stays(hold, requestId);
  const signal = hold.stopSignal();
  let answer: Answer | undefined;
  hold.answering += 1;
  try {
    const given = await onRequest(request, { signal });
    answer = given && storable("The answer", given); // as it is now, and as the log can keep it
  } catch (error) {
    hold.notice("warning", "hook-failed", `onRequest failed: ${messageOf(error)}`);
  } finally {
    hold.answering -= 1;
  }
  if (hold.state.requests[requestId] === undefined || request.expiresAt <= hold.journal.now()) return;
  if (answer === undefined || !fits(request.body, answer)) return stays(hold, requestId);
  const { fact, timer } = resolution(requestId, answer, HERE, request.runId);
  await hold.append([fact], { sync: true, timers: [timer] });
}

function stays(hold: Hold, requestId: string): void {
  hold.definitions.unanswered(requestId);
  hold.notice("info", "request-open", "A request stays open: nobody here answered it");
}
