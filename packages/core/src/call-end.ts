/** How a call came out: its status and what the model reads of it. */

import type { ToolStatus } from "./event.ts";
import { errorOutput, type ToolOutput } from "./message.ts";

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
