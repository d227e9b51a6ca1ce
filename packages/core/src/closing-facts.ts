/** Facts that close what was opened: a request by its answer, an input by being taken back. */

import type { FactOf, NewFact } from "./event.ts";
import type { Actor, Answer } from "./request.ts";

/** The end of a request, with what cancels its expiry: both belong in one append. */
export function resolution(
  requestId: string,
  answer: Answer,
  by: FactOf<"request.resolved">["by"],
  runId: string | undefined,
): { readonly fact: NewFact; readonly timer: { readonly name: string; readonly at: undefined } } {
  return {
    fact: {
      type: "request.resolved",
      key: `request/${requestId}/resolved`,
      ...(runId !== undefined && { runId }),
      requestId,
      answer,
      by,
    },
    timer: { name: `expiry/${requestId}`, at: undefined },
  };
}

/** `runId`: the run that will not start, or ended with it. */
export function withdrawn(inputId: string, actor: Actor, runId?: string): NewFact {
  const key = `input/${inputId}/withdrawn`;
  return { type: "input.withdrawn", key, ...(runId !== undefined && { runId }), inputId, actor };
}
