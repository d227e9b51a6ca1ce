/** The one end of a run: `run.finished`, with everything that was still open closed in the same append. */

import { notifyParent, stopTasks } from "./call/tasks.ts";
import type { Hold } from "./hold/hold.ts";
import { runStopHooks } from "./hooks/hooks.ts";
import { askForMore } from "./model/budget.ts";
import { isSettledByTool, outputEnd, settleOutput } from "./model/output.ts";
import { storedPrefix } from "./model/prefix.ts";
import { finishedFact, unknown } from "./state/call-end.ts";
import { expiryAnswer, resolution, withdrawn } from "./state/closing-facts.ts";
import { timeTaken } from "./state/deadline.ts";
import type { HaltReason } from "./state/decide.ts";
import { hasOpenStep, sumOfLost } from "./state/run-steps.ts";
import { INTERRUPT_MARKER, saidFact } from "./state/said.ts";
import type { CallState, RunState } from "./state/session-state.ts";
import { makeRoom } from "./turn/make-room.ts";
import type { Limits, NewFact, Problem, StopReason } from "./words/event.ts";
import type { Json } from "./words/json.ts";
import { deadlineTimer, noticeTimer } from "./words/keys.ts";
import { LIMITS } from "./words/limits.ts";
import { addUsage, errorOutput, type Usage } from "./words/message.ts";

/** Asks the `stop` hooks first when the model thinks that it is done: they may have one more thing to say. */
export async function finish(hold: Hold, reason: StopReason): Promise<void> {
  const { run } = hold;
  if (reason === "end-turn" && (!run.settled || (!hold.halted.aborted && (await isSettledByTool(hold))))) {
    const said = await runStopHooks(hold);
    if (said.length > 0) {
      await hold.append([saidFact(run.id, `${run.id}/stop/${run.turns}`, "user", ...said)]);
      return;
    }
  }
  // a call beside the last tool may have ended after its round: the answer is there all the same
  if ((reason === "budget" || reason === "max-turns") && (await settleOutput(hold))) return;
  if (reason === "budget" && (await askForMore(hold))) return;
  const room = reason === "context-exceeded" ? await makeRoom(hold) : undefined;
  if (room?.made === true) return;
  const end =
    reason === "end-turn"
      ? await outputEnd(hold, hold.state.prefix === undefined ? [] : (await storedPrefix(hold)).tools)
      : ({ type: "done" } as const);
  if (end.type === "repair") return void (await hold.append([end.fact]));
  if (end.type === "done") return finishRun(hold, reason, room?.problem ?? run.turn?.error, [], end.output);
  const message = `The model's answer does not fit the output schema: ${end.problem}`;
  await finishRun(hold, "error", { code: "output-invalid", message, retryable: false });
}

/** Ends the run for a reason from outside, once every call that runs has come to its end. */
export async function haltRun(hold: Hold, reason: HaltReason): Promise<void> {
  await Promise.all(hold.running.values());
  const { run } = hold.state;
  if (run === undefined) return;
  const marked = run.turn?.reason === "interrupted" || !wasTaken(hold, run); // an answer to nothing is no valid history
  const marker: NewFact[] =
    reason === "interrupted" && !marked
      ? [saidFact(run.id, `${run.id}/interrupted`, "assistant", INTERRUPT_MARKER)]
      : [];
  const end: StopReason = reason === "failed" ? "error" : reason;
  await finishRun(hold, end, hold.halt?.problem, marker);
}

export async function finishRun(
  hold: Hold,
  reason: StopReason,
  error?: Problem,
  last: readonly NewFact[] = [],
  output?: Json,
): Promise<void> {
  const asked = await stopTasks(hold);
  const { state, run, halt } = hold; // what came meanwhile is of this run too
  const runId = run.id;
  const stopped = asked.filter((fact) => fact.type === "task.finished" && state.tasks[fact.taskId] !== undefined); // others ended by themselves
  const treeUsage = addUsage(run.usage, stopped.reduce(withUsage, run.childUsage));
  const lost = stopped.reduce(withLost, run.lost);
  const children = run.spawned > 0 ? { treeUsage, calls: run.callsMade + run.childCalls } : { calls: run.callsMade };
  const open = Object.values(state.requests);
  const closed = open.map(({ requestId, body }) =>
    resolution(requestId, expiryAnswer(body), { id: "interrupt" }, runId),
  );
  const calls = run.calls.filter((call) => call.status !== "finished").map((call) => interruptedCall(run, call));
  const finished: NewFact = {
    type: "run.finished",
    key: `${runId}/finished`,
    runId,
    reason,
    agent: state.agent,
    usage: run.usage,
    turns: run.turns,
    ...(output !== undefined && { output }),
    ...(error !== undefined && { error }),
    ...children,
    ...(Object.keys(lost).length > 0 && { lost }),
    ...(state.parent !== undefined &&
      run.limits.wallMs !== undefined && { wallMs: timeTaken(run, hold.journal.now()) }),
  };
  const timers = [
    ...closed.map(({ timer }) => timer),
    ...(run.limits.wallMs === undefined ? [] : [{ name: deadlineTimer(runId), at: undefined }]),
    ...(state.parent === undefined
      ? []
      : [{ name: noticeTimer(runId), at: hold.journal.now() + LIMITS.tellParentAgainMs }]),
  ];
  const back = wasTaken(hold, run) ? [] : [withdrawn(run.inputId, run.actor, runId)]; // no other run will take it
  const facts = [...closed.map(({ fact }) => fact), ...stopped, ...calls, ...last, finished, ...back];
  await hold.append(facts, { sync: true, consumes: halt?.positions ?? [], timers });
  if (state.parent !== undefined) await notifyParent(hold, runId);
}

function withUsage(sum: Usage, fact: NewFact): Usage {
  return fact.type === "task.finished" && fact.usage !== undefined ? addUsage(sum, fact.usage) : sum;
}

function withLost(sum: Limits, fact: NewFact): Limits {
  return fact.type === "task.finished" ? sumOfLost(sum, fact.lost) : sum;
}

/** Whether the input that started the run became a message. */
function wasTaken(hold: Hold, { inputId }: RunState): boolean {
  return !hold.state.queue.some((input) => input.inputId === inputId);
}

/** A call that did not come to its end: not started, or started before a crash and never settled. */
function interruptedCall(run: RunState, { part, status, intent }: CallState): NewFact {
  const begun = status === "started" && intent !== undefined;
  const doubtful = begun && (intent.flow ? hasOpenStep(run, part.callId) : intent.rerun !== "safe");
  if (!doubtful) return finishedFact(run.id, part, { status: "cancelled", output: errorOutput("Interrupted") });
  const said =
    "Interrupted. The call had started and its outcome is unknown: it may have happened, or may yet happen. Check before any repeat.";
  return finishedFact(run.id, part, unknown(said));
}
