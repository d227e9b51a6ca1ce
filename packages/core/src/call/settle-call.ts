/** What became of a call that a crash left open: asked of its kind, its probe, a person, in this order. */

import type { Hold } from "../hold/hold.ts";
import { askDoubt } from "../hold/requests.ts";
import type { Tool } from "../ports/tool.ts";
import { type CallEnd, unknown } from "../state/call-end.ts";
import { hasSteps } from "../state/run-steps.ts";
import type { CallState } from "../state/session-state.ts";
import type { FactOf } from "../words/event.ts";
import { rawStep } from "../words/keys.ts";
import { errorOutput, type ToolCallPart, textOutput } from "../words/message.ts";
import { probeTool } from "./perform-tool.ts";

/** The end of a call that another attempt started. What either definition, that of then or of now, may not repeat is asked about. */
export async function settle(
  hold: Hold,
  tool: Tool,
  part: ToolCallPart,
  intent: FactOf<"tool.started">,
  checked: unknown,
): Promise<CallEnd | "again"> {
  if (tool.rerun !== "never" && intent.rerun !== "never") return "again";
  const probed = await probeTool(hold, tool, part, intent, checked);
  if (probed === "happened")
    return { status: "ok", output: textOutput("The call had finished before a crash; its output is lost.") };
  if (probed === "did-not") return "again";
  return askPerson(hold, part, intent);
}

/**
 * The end of a call that was begun before a crash where its tool is not to be called again: it is gone, or another one, or
 * a hook stands before it. `undefined` when nothing was begun, or when a person says that it may be made anew.
 */
export async function leftBegun(hold: Hold, { part, intent }: CallState): Promise<CallEnd | undefined> {
  const { run } = hold;
  if (intent === undefined || intent.attemptId === hold.journal.attemptId) return undefined;
  const recorded = run.steps[rawStep(part.callId)];
  if (recorded !== undefined) return recorded as unknown as CallEnd; // written by `keepRaw`
  if (intent.flow ? !hasSteps(run, part.callId) : intent.rerun === "safe") return undefined;
  const settled = await askPerson(hold, part, intent);
  return settled === "again" ? undefined : settled;
}

async function askPerson(hold: Hold, part: ToolCallPart, intent: FactOf<"tool.started">): Promise<CallEnd | "again"> {
  const outcome = await askDoubt(hold, {
    callId: part.callId,
    tool: part.name,
    input: intent.input,
    startedAt: intent.at,
    name: `${part.callId}/doubt/${intent.attemptId}`,
  });
  switch (outcome) {
    case "run-again":
      return "again";
    case "it-happened":
      return {
        status: "ok",
        output: textOutput("A crash lost the output of this call; a person says that it happened."),
      };
    case "skip":
      return {
        status: "cancelled",
        output: errorOutput("A crash came in between; a person says that it did not happen, and to skip it."),
      };
    case "unknown":
      return unknown(
        "A crash came after this call had started. Its outcome is unknown: it may have happened, or may yet happen. Check before any repeat.",
      );
    default:
      return outcome satisfies never;
  }
}
