/** Whether a call may run: the rules' verdict on exactly its input, a person's answer where they ask, and "always". */

import type { Hold } from "../hold/hold.ts";
import { callFacts, judge } from "../hold/policy.ts";
import { approvedBy, ask } from "../hold/requests.ts";
import { performStep } from "../hold/steps.ts";
import { checkedBy, within } from "../hold/within.ts";
import { denied } from "../hooks/refusal.ts";
import { rulesFor } from "../permission/permission.ts";
import type { HookedCall } from "../ports/plugin.ts";
import type { Tool } from "../ports/tool.ts";
import { type CallEnd, failed } from "../state/call-end.ts";
import { leftAlone, messageOf } from "../words/errors.ts";
import { copyJson, hashJson, type Json } from "../words/json.ts";
import { rememberStep } from "../words/keys.ts";
import type { ToolCallPart } from "../words/message.ts";
import type { PermissionRequest, RememberScope } from "../words/request.ts";
import type { Verdict } from "../words/verdict.ts";

/** What a call may run with: its input, and what the tool's schema made of it. `requestId`: of the answer that allowed it. */
export type Grant = { readonly input: Json; readonly checked: unknown; readonly requestId?: string };

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

/** Takes the verdict on what would run now, and asks a person when it says so. Answers with the end of a call that may not run. */
export async function permitCall(
  hold: Hold,
  tool: Tool,
  part: ToolCallPart,
  hooked: HookedCall,
  checked: unknown,
): Promise<Grant | CallEnd> {
  const words = { all: hooked.verdict, outer: hooked.outerVerdict };
  const verdict = await judge(hold, tool, checked, words);
  if (verdict.verdict === "deny") return denied(verdict.reason);
  if (verdict.verdict === "allow") return { input: hooked.input, checked };
  const { name, body } = permissionRequest(hold, tool, part, hooked.input, checked, verdict);
  const { answer, by, requestId } = await ask(hold, part.callId, name, body);
  if (!answer.allow) {
    const who = by.id === "expiry" ? "nobody answered in time" : "the user said no";
    return denied(answer.reason === undefined ? who : `${who}: ${answer.reason}`);
  }
  const input = answer.input ?? hooked.input;
  const agreed =
    answer.input === undefined
      ? { ok: true as const, value: checked }
      : await checkedBy(hold, tool.schema, copyJson(answer.input));
  if (!agreed.ok) return failed(`The arguments edited by the user do not fit ${tool.name}: ${agreed.problem}`);
  // rules, the mode and what links lead to may have changed while the question was open
  const now = await judge(hold, tool, agreed.value, words);
  if (now.verdict === "deny") return denied(now.reason);
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
    const signal = hold.stopSignal();
    try {
      const kept = performStep(hold, { name: rememberStep(requestId), rerun: "safe", signal }, keep);
      await within(hold, "Keeping a rule", kept); // keeping a rule twice is no harm
    } catch (error) {
      signal.throwIfAborted();
      hold.notice("warning", "rule-not-kept", `The rule holds for this session only: ${messageOf(error)}`);
    }
  }
  const addRules = rules.filter((rule) => !hold.state.rules.includes(rule));
  if (addRules.length === 0) return;
  const { actor } = hold.run;
  await hold.append([{ type: "session.updated", key: `request/${requestId}/rule`, addRules, actor }]);
}

/** What a person reads of the call. */
export function titleOf(tool: Tool, checked: unknown): string {
  try {
    const title: unknown = tool.title(checked); // an author's function: its type is a promise, not a fact
    if (typeof title === "string") return title;
    leftAlone(title);
  } catch {
    // a title is for show; its failure must not stop the call
  }
  return tool.name;
}
