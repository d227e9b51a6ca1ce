/** The calls of one turn: rules for all first, then each as soon as it may run, results recorded as they come. */

import { budgetLeft } from "./budget.ts";
import { type CallEnd, failed, finishedFact } from "./call-end.ts";
import { questionsOf, resolution } from "./closing-facts.ts";
import { CapstanError, messageOf, toProblem } from "./errors.ts";
import type { Hold } from "./hold.ts";
import { hasToolHooks, runRejectHooks } from "./hooks.ts";
import { copyJson } from "./json.ts";
import { keepOutput } from "./blobs.ts";
import { errorOutput, type ToolCallPart } from "./message.ts";
import { FINAL_TOOL, outputOfRun } from "./output.ts";
import { judge } from "./permission/policy.ts";
import { openRequests } from "./requests.ts";
import { permissionRequest } from "./permit-call.ts";
import { denied } from "./refusal.ts";
import { type Judged, runCall } from "./run-call.ts";
import { leftBegun } from "./settle-call.ts";
import type { CallState } from "./session-state.ts";
import type { Tool } from "./tool.ts";
import { modelName } from "./tool-name.ts";
import { checkedBy } from "./within.ts";

/**
 * Runs what can run. Returns when every call is finished, or with what the rest waits for when nothing here can move
 * them. Nothing suspends while a step is in flight.
 */
export async function runTools(hold: Hold): Promise<readonly string[]> {
  const { rules, mode } = hold.state;
  let judged = await judgeAll(hold);
  if (hold.state.rules !== rules || hold.state.mode !== mode) judged = NONE;
  for (;;) {
    if (hold.halted.aborted) return [];
    const left = (hold.state.run?.calls ?? []).filter((call) => call.status !== "finished");
    const draining = hold.journal.draining.aborted; // finish what is in flight, begin nothing new
    if (left.length === 0 || (draining && hold.running.size === 0)) return [];
    if (!draining && left.length > hold.running.size)
      for (const call of startable(hold)) start(hold, call, judged.get(call.part.callId));
    judged = NONE; // what starts later is judged when it starts
    const busy = [...hold.running.keys()].some((callId) => !hold.isBlocked(callId));
    const waits = [...hold.waiting.values()].flatMap((ids) => [...ids]);
    if (!busy) return [...new Set([...waits, ...Object.keys(hold.state.requests)])];
    await hold.changed();
  }
}

/** A question about a tool that has changed since is void: the call is judged again, by its new definition. */
export async function closeStaleRequests(hold: Hold): Promise<void> {
  const closed = Object.values(hold.state.requests).flatMap(({ requestId, body }) => {
    if (body.type !== "permission" || findTool(hold, body.tool)?.hash === body.binding.toolHash) return [];
    const answer = { type: "permission", allow: false, reason: "the tool has changed since" } as const;
    return [resolution(requestId, answer, { id: "rule" }, hold.run.id)];
  });
  if (closed.length === 0) return;
  await hold.append(
    closed.map(({ fact }) => fact),
    { sync: true, timers: closed.map(({ timer }) => timer) },
  );
}

/** A tool that this run may use. */
function findTool(hold: Hold, name: string): Tool | undefined {
  if (name === FINAL_TOOL && hold.state.run !== undefined) return outputOfRun(hold)?.tool ?? hold.tools.get(name);
  const allowed = hold.state.run?.overrides?.tools;
  if (allowed !== undefined && !allowed.includes(name)) return undefined;
  return hold.tools.get(name);
}

type Finished = ReturnType<typeof finishedFact>;

const NONE: ReadonlyMap<string, Judged> = new Map();

/**
 * Rules are taken for all new calls at once: what they refuse is finished, what they ask about is opened, in one append.
 * Answers with the calls that they allow, where no hook has a say: those that start at once are not judged twice.
 */
async function judgeAll(hold: Hold): Promise<ReadonlyMap<string, Judged>> {
  const allowed = new Map<string, Judged>();
  const { id: runId, calls } = hold.run;
  const fresh = calls.filter((call) => call.status === "proposed" && !hold.running.has(call.part.callId));
  const refused: Finished[] = [];
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
async function rejected(hold: Hold, part: ToolCallPart, problem: string, tool?: Tool): Promise<Finished> {
  const { callId, name, input } = part;
  const cause = tool === undefined ? ("unknown-tool" as const) : ("wrong-arguments" as const);
  const known = usableTools(hold).map(modelName);
  const call = { callId, name, input, cause, known, ...(tool !== undefined && { tool }) };
  const output = await runRejectHooks(hold, call, errorOutput(problem));
  const kept = await keepOutput(hold.journal, output);
  return finishedFact(hold.run.id, part, { status: output.isError === true ? "error" : "ok", output: kept });
}

/** The last calls of the turn, when it has more than the run has left. */
function callsBeyondBudget({ state }: Hold): ReadonlySet<string> {
  const { calls: left = 0 } = budgetLeft(state);
  const calls = state.run?.calls ?? [];
  return new Set(
    calls.slice(left < 0 ? Math.max(0, calls.length + left) : calls.length).map(({ part }) => part.callId),
  );
}

/** Calls that may start now: side-effect free and parallel ones at once, the others one after the other in the model's order. */
function startable(hold: Hold): readonly CallState[] {
  const waiting = Object.values(hold.state.requests).map((request) =>
    "callId" in request.body ? request.body.callId : undefined,
  );
  const result: CallState[] = [];
  let orderedBusy = false;
  for (const call of hold.state.run?.calls ?? []) {
    if (call.status === "finished") continue;
    const { callId, name } = call.part;
    const tool = findTool(hold, name);
    const free = tool !== undefined && (tool.parallel || (tool.rerun === "safe" && tool.body.type === "execute"));
    const busy = hold.running.has(callId) || (call.status === "proposed" && waiting.includes(callId));
    if (!busy && (free || !orderedBusy)) result.push(call);
    if (!free) orderedBusy = true;
  }
  return result;
}

function start(hold: Hold, call: CallState, judged: Judged | undefined): void {
  const { callId } = call.part;
  const work = finishOne(hold, call, judged).finally(() => {
    hold.running.delete(callId);
    hold.wake();
  });
  hold.running.set(callId, work);
  hold.background(work);
}

/** Performs one call to its recorded end. A halt leaves it unfinished: the end of the run closes it. */
async function finishOne(hold: Hold, call: CallState, judged: Judged | undefined): Promise<void> {
  const { part } = call;
  const runId = hold.run.id;
  const { clock } = hold.definitions;
  const startedAt = clock.monotonic();
  const tool = findTool(hold, part.name);
  let end: CallEnd;
  try {
    end =
      tool === undefined
        ? ((await leftBegun(hold, call)) ?? failed(unknownTool(hold, part.name)))
        : await runCall(hold, tool, call, judged);
  } catch (error) {
    if (hold.journal.signal.aborted || CapstanError.is(error, "lost-ownership")) throw error;
    if (hold.halted.aborted) return;
    // what only the user can put right ends the run, with the call's result in the log; nothing may start in between
    hold.requestHalt("failed", { problem: toProblem(error) });
    await appendEnds(hold, [finishedFact(runId, part, failed(messageOf(error)))]);
    return;
  }
  await appendEnds(hold, [finishedFact(runId, part, end, Math.round(clock.monotonic() - startedAt))]);
}

/** With the ends of calls, those of what they still ask: a rule, a hook or the call itself went on without an answer. */
async function appendEnds(hold: Hold, ends: readonly Finished[]): Promise<void> {
  if (Object.keys(hold.state.requests).length === 0) return void (await hold.append(ends));
  const closed = questionsOf(
    hold.state,
    ends.map(({ callId }) => callId),
  );
  const timers = closed.map(({ timer }) => timer);
  await hold.append([...closed.map(({ fact }) => fact), ...ends], { timers });
}

function unknownTool(hold: Hold, name: string): string {
  const names = usableTools(hold).map(modelName).join(", ") || "none";
  return `There is no tool named ${JSON.stringify(name)}. Available: ${names}.`;
}

function usableTools(hold: Hold): readonly string[] {
  return [...hold.tools.keys()].filter((name) => findTool(hold, name) !== undefined);
}
