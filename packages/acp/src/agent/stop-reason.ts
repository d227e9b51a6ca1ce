/** The end of a run as the end of a prompt. */

import { CapstanError, ERROR_CODES, type FactOf, type StopReason } from "@capstan/core";
import type { AcpStopReason } from "@capstan/wire/acp";

const REASONS: { readonly [Reason in StopReason]?: AcpStopReason } = {
  "end-turn": "end_turn",
  "max-tokens": "max_tokens",
  "max-turns": "max_turn_requests",
  deadline: "max_turn_requests",
  budget: "max_turn_requests",
  refusal: "refusal",
  "content-filter": "refusal",
  "refused-input": "refusal",
  interrupted: "cancelled",
};

/** An error for the ends that ACP has no word for. */
export function stopReasonOf({ reason, error }: FactOf<"run.finished">): AcpStopReason | CapstanError {
  const known = REASONS[reason];
  if (known !== undefined) return known;
  const code = ERROR_CODES.find((one) => one === error?.code) ?? "run-failed";
  const fallback =
    reason === "context-exceeded" ? "The conversation is longer than the model's context" : "The run failed";
  return new CapstanError(code, error?.message ?? fallback);
}
