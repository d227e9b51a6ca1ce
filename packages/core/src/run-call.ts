/** One call: hooks around it, permission bound to its exact input, intent before the effect, doubt after a crash. */

import { type CallEnd, failed, unknown } from "./call-end.ts";
import { CapstanError, leftAlone, messageOf } from "./errors.ts";
import type { FactOf, NewFact, ToolStatus } from "./event.ts";
import { keepOutput } from "./blobs.ts";
import { hasOpenStep } from "./finish-run.ts";
import { runFlow } from "./flow.ts";
import { handOver } from "./handoff.ts";
import type { Hold } from "./hold.ts";
import { decidedBy, hasToolHooks, isRefusal, refusal, runToolHooks } from "./hooks.ts";
import { copyJson, hashJson, type Json } from "./json.ts";
import { errorOutput, type ToolCallPart, type ToolOutput } from "./message.ts";
import { rulesFor, type Verdict } from "./permission/permission.ts";
import type { HookedCall } from "./plugin.ts";
import { callFacts, judge } from "./permission/policy.ts";
import type { PermissionRequest, RememberScope } from "./request.ts";
import { approvedBy, ask } from "./requests.ts";
import { performStep, UnknownOutcome } from "./steps.ts";
import type { CallState } from "./session-state.ts";
import type { Tool } from "./tool.ts";
import { keptResult, openWorkspace, performTool } from "./perform-tool.ts";
import { leftBegun, settle } from "./settle-call.ts";
import { endedOrIgnored, IGNORED } from "./stop.ts";
import { shortened } from "./tool-output.ts";
import { checkedBy, within } from "./within.ts";

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
  const known = hold.state.run?.steps[`call/${callId}/raw`] !== undefined && !isRefusal(output);
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

/** The request for a verdict of "ask": bound to exactly this input, this definition and this folder. */
export function permissionRequest(
  hold: Hold,
  tool: Tool,
  part: ToolCallPart,
  input: Json,
  checked: unknown,
  verdict: Verdict,
): { readonly name: string; readonly body: PermissionRequest } {
  const cwd = hold.state.workspace?.root;
  const inputHash = hashJson(input);
  const rules = rulesFor(callFacts(tool, checked, hold.state.workspace?.root));
  const { definitions } = hold;
  const scopes: readonly RememberScope[] =
    definitions.remember === undefined ? ["session"] : ["session", "agent", "global"];
  const body: PermissionRequest = {
    type: "permission",
    callId: part.callId,
    tool: tool.name,
    input,
    title: titleOf(tool, checked),
    reason: verdict.reason,
    binding: { inputHash, toolHash: tool.hash, ...(cwd !== undefined && { cwd }) },
    remember: verdict.remember && rules.length > 0 ? scopes : [],
    ...approvedBy(hold),
  };
  return { name: permissionName(part.callId, body.binding), body };
}

/** Another input, definition or folder gives another name, and so another request. */
function permissionName(callId: string, binding: PermissionRequest["binding"]): string {
  return `${callId}/permission/${hashJson(binding as Json)}`;
}

type Grant = { readonly input: Json; readonly checked: unknown; readonly requestId?: string };

/** Takes the verdict on what would run now, asks when it says so, then performs. */
async function permitted(hold: Hold, tool: Tool, call: CallState, hooked: HookedCall): Promise<CallEnd> {
  const recorded = hold.state.run?.steps[`call/${hooked.callId}/raw`];
  if (recorded !== undefined) return recorded as unknown as CallEnd; // written by `keepRaw`
  // what was permitted before a crash is what may run again: a person may have changed it
  const input = call.intent?.input ?? hooked.input;
  const passed = await checkedBy(hold, tool.schema, copyJson(input));
  if (!passed.ok) return (await leftBegun(hold, call)) ?? failed(`Wrong arguments for ${tool.name}: ${passed.problem}`);
  const grant =
    call.intent === undefined
      ? await grantFor(hold, tool, call.part, hooked, passed.value)
      : { input, checked: passed.value };
  if ("output" in grant) return grant;
  const end = await performGranted(hold, tool, call, grant);
  return hasToolHooks(hold.plugins) ? keepRaw(hold, hooked.callId, end) : end;
}

async function grantFor(
  hold: Hold,
  tool: Tool,
  part: ToolCallPart,
  hooked: HookedCall,
  checked: unknown,
): Promise<Grant | CallEnd> {
  const words = { all: hooked.verdict, outer: hooked.outerVerdict };
  const verdict = await judge(hold, tool, checked, words);
  if (verdict.verdict === "deny") return { status: "denied", output: refusal(`Refused: ${verdict.reason}`) };
  if (verdict.verdict === "allow") return { input: hooked.input, checked };
  const { name, body } = permissionRequest(hold, tool, part, hooked.input, checked, verdict);
  const { answer, by, requestId } = await ask(hold, part.callId, name, body);
  if (answer.type !== "permission" || !answer.allow) {
    const why = answer.type === "permission" && answer.reason !== undefined ? `: ${answer.reason}` : "";
    const who = by.id === "expiry" ? "nobody answered in time" : "the user said no";
    return { status: "denied", output: refusal(`Refused: ${who}${why}`) };
  }
  const input = answer.input ?? hooked.input;
  const agreed =
    answer.input === undefined
      ? { ok: true as const, value: checked }
      : await checkedBy(hold, tool.schema, copyJson(answer.input));
  if (!agreed.ok) return failed(`The arguments edited by the user do not fit ${tool.name}: ${agreed.problem}`);
  // rules, the mode and what links lead to may have changed while the question was open
  const now = await judge(hold, tool, agreed.value, words);
  if (now.verdict === "deny") return { status: "denied", output: refusal(`Refused: ${now.reason}`) };
  const scope = answer.remember;
  if (scope !== undefined) await remember(hold, tool, agreed.value, { requestId, scope }); // of what was agreed to
  return { input, checked: agreed.value, requestId };
}

type Always = { readonly requestId: string; readonly scope: RememberScope };

/** An "always" answer becomes rules of the session, once; for an agent or for all they are also kept by the host. */
async function remember(hold: Hold, tool: Tool, checked: unknown, { requestId, scope }: Always): Promise<void> {
  const rules = rulesFor(callFacts(tool, checked, hold.state.workspace?.root));
  const { definitions, agent } = hold;
  if (scope !== "session") {
    const keep = async (): Promise<void> => {
      for (const rule of rules) await definitions.remember?.(rule, { scope, agent: agent.name });
    };
    const signal = AbortSignal.any([hold.halted, hold.journal.signal]);
    try {
      const kept = performStep(hold, { name: `request/${requestId}/remember`, rerun: "safe", signal }, keep);
      await within(hold, "Keeping a rule", kept); // keeping a rule twice is no harm
    } catch (error) {
      signal.throwIfAborted();
      hold.notice("warning", "rule-not-kept", `The rule holds for this session only: ${messageOf(error)}`);
    }
  }
  const addRules = rules.filter((rule) => !hold.state.rules.includes(rule));
  const actor = hold.state.run?.actor;
  if (addRules.length === 0 || actor === undefined) return;
  await hold.append([{ type: "session.updated", key: `request/${requestId}/rule`, addRules, actor }]);
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
    const stop = hold.stop({ halts: true });
    try {
      const result = await endedOrIgnored(
        hold.definitions.clock,
        runFlow(hold, tool, part, grant.checked, stop.signal),
        stop,
      );
      if (result === IGNORED) return leftFlow(hold, part);
      return { status: "ok", output: await keptResult(hold, tool, result) };
    } catch (error) {
      return flowFailure(hold, error);
    } finally {
      stop.end();
    }
  }
  let intent = call.intent ?? (await intend(hold, tool, call, grant, 1));
  if (tool.body.type === "handoff") return handOver(hold, tool.body.agent);
  const notBegun: CallEnd = { status: "cancelled", output: errorOutput("Interrupted before it began.") };
  for (let attempt = Math.max(call.attempts, 1); ; attempt++) {
    const owned = intent;
    const key = `call/${part.callId}/perform/${attempt}`;
    const value = await hold.journal.step(key, async () => {
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
  const { journal, state } = hold;
  const locations = tool.needs(grant.checked).flatMap((need) => ("path" in need ? [{ path: need.path }] : []));
  const workspace = await openWorkspace(hold);
  const fact: NewFact = {
    type: "tool.started",
    key: `call/${callId}/started/${attempt}${tool.body.type === "flow" ? `/${journal.attemptId}` : ""}`,
    runId: state.run?.id ?? "",
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
  if (answer.type !== "client-tool") throw new Error("a client-tool request was answered with another type"); // `fits` refuses that
  return { status: answer.output.isError === true ? "error" : "ok", output: shortened(answer.output) };
}

/** With hooks present the raw result is recorded inside `next`, so that a crash in a later hook is not doubt. */
async function keepRaw(hold: Hold, callId: string, end: CallEnd): Promise<CallEnd> {
  const runId = hold.state.run?.id;
  const name = `call/${callId}/raw`;
  const value = end as unknown as Json; // plain data
  await hold.append([{ type: "step.finished", key: name, ...(runId !== undefined && { runId }), name, value }]);
  return end;
}

/** A flow that did not stop when it was told to. A step that it had begun may yet happen. */
function leftFlow({ state }: Hold, { callId }: ToolCallPart): CallEnd {
  if (state.run === undefined || !hasOpenStep(state.run, callId)) {
    return { status: "cancelled", output: errorOutput("Interrupted.") };
  }
  return unknown(
    "Interrupted. A step did not stop: its outcome is unknown and it may yet happen. Check before any repeat.",
  );
}

function flowFailure(hold: Hold, error: unknown): CallEnd {
  if (hold.halted.aborted || hold.journal.signal.aborted) throw error;
  if (error instanceof UnknownOutcome) return unknown(error.message);
  if (CapstanError.is(error)) throw error;
  return failed(messageOf(error));
}

function titleOf(tool: Tool, checked: unknown): string {
  try {
    const title: unknown = tool.title(checked); // an author's function: its type is a promise, not a fact
    if (typeof title === "string") return title;
    leftAlone(title);
  } catch {
    // a title is for show; its failure must not stop the call
  }
  return tool.name;
}
