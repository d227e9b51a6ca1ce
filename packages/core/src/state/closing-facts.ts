/** Facts that close what was opened: a request by its answer, an input by being taken back. */

import type { FactOf, NewFact } from "../words/event.ts";
import { type TimerSetting, expiryTimer } from "../words/keys.ts";
import type { Actor, Answer, RequestBody } from "../words/request.ts";
import type { SessionState } from "./session-state.ts";

/** The end of a request, with what cancels its expiry: both belong in one append. */
export function resolution(
  requestId: string,
  answer: Answer,
  by: FactOf<"request.resolved">["by"],
  runId: string | undefined,
): { readonly fact: NewFact; readonly timer: TimerSetting } {
  return {
    fact: {
      type: "request.resolved",
      key: `request/${requestId}/resolved`,
      ...(runId !== undefined && { runId }),
      requestId,
      answer,
      by,
    },
    timer: { name: expiryTimer(requestId), at: undefined },
  };
}

/** The end of what these calls still ask, now that they have ended: nobody's answer could change anything. */
export function questionsOf(
  { requests, run }: Pick<SessionState, "requests" | "run">,
  callIds: readonly string[],
): readonly ReturnType<typeof resolution>[] {
  return Object.values(requests).flatMap(({ requestId, body }) =>
    "callId" in body && body.callId !== undefined && callIds.includes(body.callId)
      ? [resolution(requestId, expiryAnswer(body), { id: "rule" }, run?.id)]
      : [],
  );
}

/** `runId`: the run that will not start, or ended with it. */
export function withdrawn(inputId: string, actor: Actor, runId?: string): NewFact {
  const key = `input/${inputId}/withdrawn`;
  return { type: "input.withdrawn", key, ...(runId !== undefined && { runId }), inputId, actor };
}

/** What an unanswered request becomes: always the careful choice. */
export function expiryAnswer(request: RequestBody): Answer {
  switch (request.type) {
    case "permission":
    case "plan":
      return { type: request.type, allow: false, reason: "nobody answered in time" };
    case "question":
      return { type: "question", answers: {} };
    case "form":
      return { type: "form", decline: true };
    case "client-tool":
      return {
        type: "client-tool",
        output: { content: [{ type: "text", text: "No result was supplied in time." }], isError: true },
      };
    case "doubt":
      return { type: "doubt", outcome: "skip" };
    default:
      return request satisfies never;
  }
}
