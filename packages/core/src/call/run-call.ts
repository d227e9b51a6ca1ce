/** One call: hooks around it, permission bound to its exact input, intent before the effect, doubt after a crash. */

import type { Hold } from "../hold/hold.ts";
import { openWorkspace } from "../hold/open-workspace.ts";
import { ask } from "../hold/requests.ts";
import { checkedBy } from "../hold/within.ts";
import { hasToolHooks, runToolHooks } from "../hooks/hooks.ts";
import { decidedBy, isRefusal } from "../hooks/refusal.ts";
import type { HookedCall } from "../ports/plugin.ts";
import { shortened } from "../ports/tool-output.ts";
import type { Tool } from "../ports/tool.ts";
import { type CallEnd, failed } from "../state/call-end.ts";
import type { CallState } from "../state/session-state.ts";
import { keepOutput } from "../words/blobs.ts";
import type { FactOf, NewFact, ToolStatus } from "../words/event.ts";
import { copyJson, type Json } from "../words/json.ts";
import { effectStep, rawStep } from "../words/keys.ts";
import { errorOutput, type ToolCallPart, type ToolOutput } from "../words/message.ts";
import { performFlow } from "./flow.ts";
import { handOver } from "./handoff.ts";
import { performTool } from "./perform-tool.ts";
import { type Grant, permitCall, titleOf } from "./permit-call.ts";
import { leftBegun, settle } from "./settle-call.ts";

/** A call of a tool with code of its own that the rules allow just now, its input as its schema gave it. */
export type Judged = { readonly tool: Tool; readonly checked: unknown };

/** Throws when the run was halted before the call came to an end, and a `CapstanError` that is to end the run. */
export async function runCall(hold: Hold, tool: Tool, call: CallState, judged?: Judged): Promise<CallEnd> {
  const { callId, name, input } = call.part;
  if (judged?.tool === tool) {
    const { status, output } = await performGranted(hold, tool, call, { input, checked: judged.checked });
    return { status, output: await keepOutput(hold.journal, output) };
  }
  let status: ToolStatus | undefined;
  let handoff: string | undefined;
  const perform = async (hooked: HookedCall): Promise<ToolOutput> => {
    const end = await permitted(hold, tool, call, hooked);
    ({ status, handoff } = end);
    return end.output;
  };
  const hooked: HookedCall = { callId, name, input, tool };
  const output = hasToolHooks(hold.plugins) ? await runToolHooks(hold, hooked, perform) : await perform(hooked);
  // a hook may replace a result that is known; it does not decide what a crash left open
  const known = hold.run.steps[rawStep(callId)] !== undefined && !isRefusal(output);
  const begun = status === undefined && !known ? await leftBegun(hold, call) : undefined;
  if (begun !== undefined) return { ...begun, output: await keepOutput(hold.journal, begun.output) };
  const by = status === undefined ? decidedBy(output) : undefined;
  if (isRefusal(output)) return { status: "denied", output, ...(by !== undefined && { by }) };
  const kept = await keepOutput(hold.journal, output);
  if (status !== undefined && status !== "ok" && status !== "error") return { status, output: kept };
  const decider = by === undefined ? {} : { by };
  if (output.isError === true) return { status: "error", output: kept, ...decider };
  return { status: "ok", output: kept, ...decider, ...(handoff !== undefined && { handoff }) };
}

/** Performs the call once it may run. */
async function permitted(hold: Hold, tool: Tool, call: CallState, hooked: HookedCall): Promise<CallEnd> {
  const recorded = hold.run.steps[rawStep(hooked.callId)];
  if (recorded !== undefined) return recorded as unknown as CallEnd; // written by `keepRaw`
  // what was permitted before a crash is what may run again: a person may have changed it
  const input = call.intent?.input ?? hooked.input;
  const passed = await checkedBy(hold, tool.schema, copyJson(input));
  if (!passed.ok) return (await leftBegun(hold, call)) ?? failed(`Wrong arguments for ${tool.name}: ${passed.problem}`);
  const grant =
    call.intent === undefined
      ? await permitCall(hold, tool, call.part, hooked, passed.value)
      : { input, checked: passed.value };
  if ("output" in grant) return grant;
  const end = await performGranted(hold, tool, call, grant);
  return hasToolHooks(hold.plugins) ? keepRaw(hold, hooked.callId, end) : end;
}

/** What was begun as one kind of tool is not gone on with as another. */
function isOtherKind({ body }: Tool, intent: FactOf<"tool.started">): boolean {
  return body.type === "client" || (body.type === "flow") !== intent.flow;
}

async function performGranted(hold: Hold, tool: Tool, call: CallState, grant: Grant): Promise<CallEnd> {
  const { part } = call;
  const begun = call.intent !== undefined && isOtherKind(tool, call.intent) ? await leftBegun(hold, call) : undefined;
  if (begun !== undefined) return begun;
  if (tool.body.type === "client") return fromClient(hold, tool, part, grant);
  if (tool.body.type === "flow") {
    await intend(hold, tool, call, grant, call.attempts + 1);
    return performFlow(hold, tool, part, grant.checked);
  }
  let intent = call.intent ?? (await intend(hold, tool, call, grant, 1));
  if (tool.body.type === "handoff") return handOver(hold, tool.body.agent);
  const notBegun: CallEnd = { status: "cancelled", output: errorOutput("Interrupted before it began.") };
  for (let attempt = Math.max(call.attempts, 1); ; attempt++) {
    const owned = intent;
    const value = await hold.journal.step(effectStep(part.callId, attempt), async () => {
      if (owned.attemptId !== hold.journal.attemptId) return null; // in doubt: whoever did not write the intent may not perform
      if (hold.halted.aborted) return notBegun as unknown as Json; // halted while the intent went to the disk
      const granted = { ...owned, attempt, checked: grant.checked };
      return (await performTool(hold, tool, part, granted)) as unknown as Json; // plain data
    });
    if (value !== null) return value as unknown as CallEnd; // written above
    const settled = await settle(hold, tool, part, owned, grant.checked);
    if (settled !== "again") return settled;
    intent = await intend(hold, tool, call, grant, attempt + 1);
  }
}

/** Approval and intent are one append: `requestId` names the answer that this start uses up. */
async function intend(
  hold: Hold,
  tool: Tool,
  { part }: CallState,
  grant: Grant,
  attempt: number,
): Promise<FactOf<"tool.started">> {
  hold.halted.throwIfAborted(); // nothing begins once the run is to end
  const { callId, name } = part;
  const { journal } = hold;
  const locations = tool.needs(grant.checked).flatMap((need) => ("path" in need ? [{ path: need.path }] : []));
  const workspace = await openWorkspace(hold);
  const fact: NewFact = {
    type: "tool.started",
    key: `call/${callId}/started/${attempt}${tool.body.type === "flow" ? `/${journal.attemptId}` : ""}`,
    runId: hold.run.id,
    callId,
    name,
    title: titleOf(tool, grant.checked),
    kind: tool.kind,
    input: grant.input,
    attemptId: journal.attemptId,
    rerun: tool.rerun,
    flow: tool.body.type === "flow",
    idempotencyKey: callId.replaceAll("/", "-"), // of this run only; good as a header and as the name of a file
    toolHash: tool.hash,
    confinement: workspace?.confinement ?? "none",
    ...(grant.requestId !== undefined && { requestId: grant.requestId }),
    ...(tool.server !== undefined && { server: tool.server }),
    ...(locations.length > 0 && { locations }),
  };
  const stored = await hold.append([fact], { sync: tool.rerun !== "safe" });
  return stored[0] as FactOf<"tool.started">; // one in, one out
}

async function fromClient(hold: Hold, tool: Tool, part: ToolCallPart, grant: Grant): Promise<CallEnd> {
  const { callId } = part;
  const { answer } = await ask(hold, callId, `${callId}/client`, {
    type: "client-tool",
    callId,
    tool: tool.name,
    input: grant.input,
  });
  return { status: answer.output.isError === true ? "error" : "ok", output: shortened(answer.output) };
}

/** With hooks present the raw result is recorded inside `next`, so that a crash in a later hook is not doubt. */
async function keepRaw(hold: Hold, callId: string, end: CallEnd): Promise<CallEnd> {
  const name = rawStep(callId);
  const value = end as unknown as Json; // plain data
  await hold.append([{ type: "step.finished", key: name, runId: hold.run.id, name, value }]);
  return end;
}
