/** How a call came out: its status and what the model reads of it. */

import type { FactOf, ToolStatus } from "../words/event.ts";
import { errorOutput, type ToolCallPart, type ToolOutput } from "../words/message.ts";

/** `by`: the plugin that decided on the call in place of its tool. `handoff`: the agent that takes the session over. */
export type CallEnd = {
  readonly status: ToolStatus;
  readonly output: ToolOutput;
  readonly by?: string;
  readonly handoff?: string;
};

export function failed(message: string): CallEnd {
  return { status: "error", output: errorOutput(message) };
}

/** It may have happened, or may yet happen. */
export function unknown(message: string): CallEnd {
  return { status: "unknown", output: errorOutput(message) };
}

export type FinishedFact = Omit<FactOf<"tool.finished">, "seq" | "at">;

/** The fact of the end. `durationMs`: 0 for a call that was not made here. */
export function finishedFact(
  runId: string,
  { callId, name }: Pick<ToolCallPart, "callId" | "name">,
  end: CallEnd,
  durationMs = 0,
): FinishedFact {
  const { status, output, by, handoff } = end;
  const key = `call/${callId}/finished`;
  const fact = { type: "tool.finished", key, runId, callId, name, status, output, durationMs } as const;
  if (by === undefined && handoff === undefined) return fact;
  return { ...fact, ...(by !== undefined && { by }), ...(handoff !== undefined && { handoff }) };
}
