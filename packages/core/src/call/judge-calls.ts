/** What the rules say of all new calls of a turn, before any of them starts. */

import type { Hold } from "../hold/hold.ts";
import { judge } from "../hold/policy.ts";
import { openRequests } from "../hold/requests.ts";
import { usableTools, findTool } from "../hold/tool-set.ts";
import { checkedBy } from "../hold/within.ts";
import { hasToolHooks, runRejectHooks } from "../hooks/hooks.ts";
import { denied } from "../hooks/refusal.ts";
import type { Tool } from "../ports/tool.ts";
import { budgetLeft } from "../state/budget-left.ts";
import { type FinishedFact, finishedFact } from "../state/call-end.ts";
import { questionsOf } from "../state/closing-facts.ts";
import { keepOutput } from "../words/blobs.ts";
import { copyJson } from "../words/json.ts";
import { errorOutput, type ToolCallPart } from "../words/message.ts";
import { modelName } from "../words/tool-name.ts";
import { permissionRequest } from "./permit-call.ts";
import type { Judged } from "./run-call.ts";

/**
 * Rules are taken for all new calls at once: what they refuse is finished, what they ask about is opened, in one append.
 * Answers with the calls that they allow, where no hook has a say: those that start at once are not judged twice.
 */
export async function judgeCalls(hold: Hold): Promise<ReadonlyMap<string, Judged>> {
  const allowed = new Map<string, Judged>();
  const { id: runId, calls } = hold.run;
  const fresh = calls.filter((call) => call.status === "proposed" && !hold.running.has(call.part.callId));
  const refused: FinishedFact[] = [];
  const beyond = callsBeyondBudget(hold);
  const asks: { name: string; body: ReturnType<typeof permissionRequest>["body"] }[] = [];
  for (const { part } of fresh) {
    const { callId, name } = part;
    if (beyond.has(callId)) {
      refused.push(finishedFact(runId, part, denied("the budget of calls is used up")));
      continue;
    }
    const tool = findTool(hold, name);
    if (tool === undefined) {
      refused.push(await rejected(hold, part, unknownTool(hold, name)));
      continue;
    }
    const passed = await checkedBy(hold, tool.schema, copyJson(part.input));
    if (!passed.ok) {
      const said = typeof part.input === "string" ? "its arguments are not valid JSON" : passed.problem;
      refused.push(await rejected(hold, part, `Wrong arguments for ${modelName(name)}: ${said}`, tool));
      continue;
    }
    const verdict = await judge(hold, tool, passed.value);
    // what a hook could still allow is decided when the call may start and its hooks run
    const open =
      hasToolHooks(hold.plugins) &&
      (await judge(hold, tool, passed.value, { all: "allow", outer: "allow" })).verdict === "allow";
    if (open) continue;
    if (verdict.verdict === "deny") {
      refused.push(finishedFact(runId, part, denied(verdict.reason)));
    } else if (verdict.verdict === "ask")
      asks.push(permissionRequest(hold, tool, part, part.input, passed.value, verdict));
    else if (tool.body.type === "execute" && !hasToolHooks(hold.plugins))
      allowed.set(callId, { tool, checked: passed.value });
  }
  if (refused.length > 0) await appendEnds(hold, refused);
  if (asks.length > 0) await openRequests(hold, asks);
  return allowed;
}

/** The end of a call that cannot be made, as the plugins tell the model of it. */
async function rejected(hold: Hold, part: ToolCallPart, problem: string, tool?: Tool): Promise<FinishedFact> {
  const { callId, name, input } = part;
  const cause = tool === undefined ? ("unknown-tool" as const) : ("wrong-arguments" as const);
  const known = usableTools(hold);
  const call = { callId, name, input, cause, known, ...(tool !== undefined && { tool }) };
  const output = await runRejectHooks(hold, call, errorOutput(problem));
  const kept = await keepOutput(hold.journal, output);
  return finishedFact(hold.run.id, part, { status: output.isError === true ? "error" : "ok", output: kept });
}

/** The last calls of the turn, when it has more than the run has left. */
function callsBeyondBudget({ state, run: { calls } }: Hold): ReadonlySet<string> {
  const { calls: left = 0 } = budgetLeft(state);
  return new Set(
    calls.slice(left < 0 ? Math.max(0, calls.length + left) : calls.length).map(({ part }) => part.callId),
  );
}

/** With the ends of calls, those of what they still ask: a rule, a hook or the call itself went on without an answer. */
export async function appendEnds(hold: Hold, ends: readonly FinishedFact[]): Promise<void> {
  if (Object.keys(hold.state.requests).length === 0) return void (await hold.append(ends));
  const closed = questionsOf(
    hold.state,
    ends.map(({ callId }) => callId),
  );
  const timers = closed.map(({ timer }) => timer);
  await hold.append([...closed.map(({ fact }) => fact), ...ends], { timers });
}

export function unknownTool(hold: Hold, name: string): string {
  const names = usableTools(hold).join(", ") || "none";
  return `There is no tool named ${JSON.stringify(name)}. Available: ${names}.`;
}
