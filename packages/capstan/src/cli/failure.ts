/** Exit codes, and every error as one line that says what happened and what to do. */

import { CapstanError, type ErrorCode, messageOf, type StopReason } from "@capstan/core";
import { inertLine } from "./inert.ts";

export const EXIT = { done: 0, failed: 1, usage: 2, refused: 3, limit: 4, waiting: 5, interrupted: 130 } as const;

/** What the person who typed the command can put right there and then. */
const EXIT_OF_CODE: { readonly [code in ErrorCode]?: number } = {
  "agent-invalid": EXIT.usage,
  "agent-unknown": EXIT.usage,
  "config-invalid": EXIT.usage,
  "cursor-invalid": EXIT.usage,
  "input-invalid": EXIT.usage,
  "input-too-large": EXIT.usage,
  interrupted: EXIT.interrupted,
  "limit-reached": EXIT.limit,
  "model-key-missing": EXIT.usage,
  "model-unknown": EXIT.usage,
  "node-too-old": EXIT.usage,
  "request-invalid": EXIT.usage,
  "rule-invalid": EXIT.usage,
  "run-waiting": EXIT.waiting,
  "sandbox-unavailable": EXIT.usage,
  "session-not-found": EXIT.usage,
  usage: EXIT.usage,
  "workspace-missing": EXIT.usage,
};

const EXIT_OF_REASON = {
  "end-turn": EXIT.done,
  "max-tokens": EXIT.limit,
  "max-turns": EXIT.limit,
  deadline: EXIT.limit,
  budget: EXIT.limit,
  "context-exceeded": EXIT.limit,
  refusal: EXIT.failed,
  "refused-input": EXIT.failed,
  "content-filter": EXIT.failed,
  interrupted: EXIT.interrupted,
  error: EXIT.failed,
} as const satisfies Record<StopReason, number>;

export function exitOfReason(reason: StopReason): number {
  return EXIT_OF_REASON[reason];
}

/** Writes the line and, with CAPSTAN_DEBUG, where it came from. Returns the exit code. */
export function reportFailure(name: string, given: unknown): number {
  const error = withoutFolder(given);
  process.stderr.write(`${failureLine(name, error)}\n`);
  if (process.env["CAPSTAN_DEBUG"] && error instanceof Error) process.stderr.write(`${debugText(error)}\n`);
  return CapstanError.is(error) ? (EXIT_OF_CODE[error.code] ?? EXIT.failed) : EXIT.failed;
}

export function failureLine(name: string, error: unknown): string {
  const known = CapstanError.is(error);
  const advice = known ? "" : "; this is a mistake in Capstan, set CAPSTAN_DEBUG=1 to see where";
  return `${name}: ${inertLine(messageOf(error)).replace(/\.$/, "")}${advice} (${known ? error.code : "unexpected"})`;
}

/** Node cannot say where it is once the working folder was deleted under the command. */
function withoutFolder(error: unknown): unknown {
  if (!(error instanceof Error) || !("syscall" in error) || error.syscall !== "uv_cwd") return error;
  const message = "The folder this command was started in is no longer there; change to another one";
  return new CapstanError("workspace-missing", message, { cause: error });
}

function debugText(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${debugText(error.cause)}` : "";
  return `${error.stack ?? error.message}${cause}`;
}

export function usage(message: string): CapstanError {
  return new CapstanError("usage", message);
}
