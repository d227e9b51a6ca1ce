/** What rules and hooks said in place of a tool, told apart from what tools said by identity. */

import type { CallEnd } from "../state/call-end.ts";
import { errorOutput, type ToolOutput } from "../words/message.ts";

const refusals = new WeakSet<ToolOutput>();

export function refusal(reason: string): ToolOutput {
  const output = errorOutput(reason);
  refusals.add(output);
  return output;
}

export function denied(reason: string): CallEnd {
  return { status: "denied", output: refusal(`Refused: ${reason}`) };
}

export function isRefusal(output: ToolOutput): boolean {
  return refusals.has(output);
}

/** Outputs that a hook gave without asking for the call, with the name of its plugin. */
const decided = new WeakMap<ToolOutput, string>();

/** Remembers that this plugin decided on the call in place of its tool. */
export function decideBy(output: ToolOutput, plugin: string): ToolOutput {
  decided.set(output, plugin);
  return output;
}

/** The plugin that decided on the call in place of its tool. */
export function decidedBy(output: ToolOutput): string | undefined {
  return decided.get(output);
}
