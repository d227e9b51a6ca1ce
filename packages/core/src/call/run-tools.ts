/** The calls of one turn: rules for all first, then each as soon as it may run, results recorded as they come. */

import type { Hold } from "../hold/hold.ts";
import { findTool } from "../hold/tool-set.ts";
import { type CallEnd, failed, finishedFact } from "../state/call-end.ts";
import { resolution } from "../state/closing-facts.ts";
import type { CallState } from "../state/session-state.ts";
import { CapstanError, messageOf, toProblem } from "../words/errors.ts";
import { appendEnds, judgeCalls, unknownTool } from "./judge-calls.ts";
import { type Judged, runCall } from "./run-call.ts";
import { leftBegun } from "./settle-call.ts";

/**
 * Runs what can run. Returns when every call is finished, or with what the rest waits for when nothing here can move
 * them. Nothing suspends while a step is in flight.
 */
export async function runTools(hold: Hold): Promise<readonly string[]> {
  const { rules, mode } = hold.state;
  let judged = await judgeCalls(hold);
  if (hold.state.rules !== rules || hold.state.mode !== mode) judged = NONE;
  for (;;) {
    if (hold.halted.aborted) return [];
    const left = hold.run.calls.filter((call) => call.status !== "finished");
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

const NONE: ReadonlyMap<string, Judged> = new Map();

/** Calls that may start now: side-effect free and parallel ones at once, the others one after the other in the model's order. */
function startable(hold: Hold): readonly CallState[] {
  const waiting = Object.values(hold.state.requests).map((request) =>
    "callId" in request.body ? request.body.callId : undefined,
  );
  const result: CallState[] = [];
  let orderedBusy = false;
  for (const call of hold.run.calls) {
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
