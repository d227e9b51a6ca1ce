/** The loop: fold the log, decide, perform, append, until nothing is left to do. Read this file first. */

import { callModel } from "./call-model.ts";
import { decide } from "./decide.ts";
import type { Definitions } from "./definitions.ts";
import { finish, haltRun } from "./finish-run.ts";
import { type Hold, openHold } from "./hold.ts";
import type { Journal } from "./journal.ts";
import { readMail } from "./mail.ts";
import { awaitAny } from "./requests.ts";
import { runTools } from "./run-tools.ts";
import { startRun, takeInput } from "./start-run.ts";

/**
 * Drives one held session. Recovery is this function started again: what the log says is done is not done again, the
 * one unfinished action runs again from its top. Returns "parked" when only an answer, a child or a timer can go on.
 */
export async function drive(journal: Journal, definitions: Definitions): Promise<"finished" | "parked"> {
  const hold = await openHold(journal, definitions);
  await resume(hold);
  const mail = readMail(hold);
  hold.background(mail.ended);
  for (;;) {
    if (journal.draining.aborted && hold.running.size === 0) return "parked";
    hold.snapshotIfDue();
    const action = decide(hold.state, hold.halt?.reason);
    switch (action.type) {
      case "start-run":
        await startRun(hold, action.input);
        break;
      case "take-input":
        await takeInput(hold, action.input);
        break;
      case "call-model":
        await callModel(hold, action);
        break;
      case "run-tools": {
        const blocked = await runTools(hold);
        if (blocked.length > 0 && (await awaitAny(hold, blocked)) === "parked") return "parked";
        break;
      }
      case "await-request":
        if ((await awaitAny(hold, action.requestIds)) === "parked") return "parked";
        break;
      case "halt":
        await haltRun(hold, action.reason);
        break;
      case "finish":
        await finish(hold, action.reason);
        break;
      case "idle":
        await dropStaleHalt(hold);
        if (
          (await hold.idle(() => hold.state.queue.length > 0 || hold.halt !== undefined)) === "parked" &&
          !mail.busy()
        ) {
          return "finished";
        }
        break;
      default:
        return action satisfies never;
    }
  }
}

/** A new hold of an unfinished run says so first: `seq` moves between holders, and cursors stay unambiguous. */
async function resume(hold: Hold): Promise<void> {
  const { run } = hold.state;
  if (run === undefined) return;
  const { epoch } = hold.journal;
  const by = run.suspendedAt === undefined ? "recovery" : "answer";
  await hold.append([{ type: "run.resumed", key: `${run.id}/resumed/${epoch}`, runId: run.id, epoch, by }]);
}

/** An interrupt that came when its run had just ended changes nothing. */
async function dropStaleHalt(hold: Hold): Promise<void> {
  if (hold.halt === undefined) return;
  const { positions } = hold.halt;
  hold.clearHalt();
  await hold.append([], { consumes: positions });
}
