/** The loop: fold the log, decide, perform, append, until nothing is left to do. Read this file first. */

import { closeStaleRequests, runTools } from "./call/run-tools.ts";
import { resumeTasks } from "./call/tasks.ts";
import { finish, haltRun } from "./finish-run.ts";
import { awaitAny } from "./hold/await-request.ts";
import type { Hold } from "./hold/hold.ts";
import { openHold } from "./hold/open-hold.ts";
import { openWorkspace } from "./hold/open-workspace.ts";
import { readMail, takeMail } from "./mail.ts";
import { settleOutput } from "./model/output.ts";
import type { Definitions } from "./ports/definitions.ts";
import type { Journal } from "./ports/journal.ts";
import { startRun, takeInput } from "./start-run.ts";
import { deadlineTimers } from "./state/deadline.ts";
import { type Action, decide } from "./state/decide.ts";
import type { SessionState } from "./state/session-state.ts";
import { callModel } from "./turn/call-model.ts";
import { toProblem } from "./words/errors.ts";

/**
 * Drives one held session. Recovery is this function started again: what the log says is done is not done again, the
 * one unfinished action runs again from its top. Returns "parked" when only an answer, a child or a timer can go on.
 */
export async function drive(journal: Journal, definitions: Definitions): Promise<"finished" | "parked"> {
  const hold = await openHold(journal, definitions);
  await requireWorkspace(hold);
  await resume(hold);
  if (journal.failed !== undefined && hold.state.run !== undefined)
    hold.requestHalt("failed", { problem: journal.failed });
  await resumeTasks(hold);
  await takeMail(hold);
  const mail = readMail(hold);
  hold.background(mail.ended);
  for (;;) {
    if (journal.draining.aborted && hold.running.size === 0) return "parked";
    hold.snapshotIfDue();
    const action = decide(hold.state, hold.halt?.reason);
    try {
      const done = action.type === "idle" ? await idle(hold, mail.busy) : await perform(hold, action);
      if (done === "finished" || done === "parked") return done;
    } catch (error) {
      if (journal.signal.aborted || hold.state.run === undefined || action.type === "halt") throw error;
      if (hold.halt === undefined) hold.requestHalt("failed", { problem: toProblem(error) }); // else it only obeyed its signal
    }
  }
}

/** A run that cannot go on, because its workspace is not here, can be ended all the same. */
async function requireWorkspace(hold: Hold): Promise<void> {
  try {
    await openWorkspace(hold);
  } catch (error) {
    await takeMail(hold);
    if (hold.halt !== undefined) await haltRun(hold, hold.halt.reason);
    throw error;
  }
}

/** Nothing to do: waits for more, and is finished when none comes. */
async function idle(hold: Hold, busy: () => boolean): Promise<"finished" | "woken"> {
  await dropStaleHalt(hold);
  const end = await hold.idle(() => hold.state.queue.length > 0 || hold.halt !== undefined);
  return end === "parked" && !busy() ? "finished" : "woken";
}

/** One action to its end in the log. What it throws, unless the hold is lost, ends the run visibly. */
async function perform(hold: Hold, action: Exclude<Action, { type: "idle" }>): Promise<"parked" | "woken" | void> {
  switch (action.type) {
    case "start-run":
      return startRun(hold, action.input);
    case "take-input":
      return takeInput(hold, action.input);
    case "call-model":
      return (await callModel(hold, action)) === "unpaid" ? finish(hold, "budget") : undefined;
    case "run-tools": {
      const blocked = await runTools(hold);
      if (blocked.length > 0) return awaitAny(hold, blocked);
      if (hold.state.agent !== hold.agent.name) await hold.refresh();
      await settleOutput(hold);
      return undefined;
    }
    case "await-request":
      return awaitAny(hold, action.requestIds);
    case "halt":
      return haltRun(hold, action.reason);
    case "finish":
      return finish(hold, action.reason);
    default:
      return action satisfies never;
  }
}

/** A new hold of an unfinished run says so first: `seq` moves between holders, and cursors stay unambiguous. */
async function resume(hold: Hold): Promise<void> {
  const { run, queue } = hold.state;
  if (run === undefined) return;
  const { epoch } = hold.journal;
  const by = run.suspendedAt === undefined ? "recovery" : awaited(hold.state);
  await hold.append([{ type: "run.resumed", key: `${run.id}/resumed/${epoch}`, runId: run.id, epoch, by }]);
  const awake = hold.state.run;
  if (awake !== undefined) await hold.append([], { timers: deadlineTimers(awake, hold.journal.now()) });
  await closeStaleRequests(hold);
  if (queue.some((input) => input.interrupts === run.id)) hold.requestHalt("interrupted"); // its sender was told so before a crash
}

/** What a suspended run waits for: a person first, when there are several. */
function awaited({ requests, run }: SessionState): "answer" | "timer" | "child" {
  if (Object.keys(requests).length > 0) return "answer";
  return run?.suspendedForTask === true ? "child" : "timer";
}

/** An interrupt that came when its run had just ended changes nothing. */
async function dropStaleHalt(hold: Hold): Promise<void> {
  if (hold.halt === undefined) return;
  const { positions } = hold.halt;
  hold.clearHalt();
  await hold.append([], { consumes: positions });
}
