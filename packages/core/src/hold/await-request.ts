/** Waiting for answers and timers: of one call, and with nothing else to do until the hold parks. */

import { deadlineTimers } from "../state/deadline.ts";
import type { SessionState } from "../state/session-state.ts";
import type { NewFact } from "../words/event.ts";
import { readName, sleptStep } from "../words/keys.ts";
import { answerHere } from "./answer-here.ts";
import type { Hold } from "./hold.ts";

/** Marks the call as waiting for `id` until `found` gives something. */
export async function waitFor<T>(hold: Hold, callId: string, id: string, found: () => T | undefined): Promise<T> {
  try {
    for (;;) {
      const value = found();
      if (value !== undefined) return value;
      hold.halted.throwIfAborted();
      const waiting = hold.waiting.get(callId) ?? new Set();
      if (!waiting.has(id)) {
        hold.waiting.set(callId, waiting.add(id));
        hold.wake(); // once: two that wait would wake each other for ever
      }
      await hold.changed();
    }
  } finally {
    hold.waiting.get(callId)?.delete(id);
  }
}

/** Whether what a call waits for by this id, given to `waitFor`, is in the log. */
function hasCome({ run, tasks }: SessionState, id: string): boolean {
  const { kind, subject } = readName(id);
  if (kind === "task") return tasks[subject] === undefined;
  if (kind === "sleep") return run?.steps[sleptStep(subject)] !== undefined;
  return run?.answers[id] !== undefined;
}

/** Nothing can go on: says so in the log, keeps the hold for a while, then parks. */
export async function awaitAny(hold: Hold, ids: readonly string[]): Promise<"woken" | "parked"> {
  answerHere(hold);
  const { state } = hold;
  const { run } = state;
  // what has come meanwhile would never come again to a session that a crash left suspended
  if (ids.some((id) => hasCome(state, id))) return "woken";
  let { head } = state;
  if (run !== undefined && run.suspendedAt === undefined) {
    const fact: NewFact = { type: "run.suspended", key: `${run.id}/suspended/${head}`, runId: run.id, on: ids };
    head += 1;
    await hold.append([fact]);
  }
  const ready = (): boolean => hold.halt !== undefined || hold.state.head > head;
  let ended = await hold.idle(ready);
  while (ended === "parked" && hold.answering > 0 && !hold.journal.draining.aborted) ended = await hold.idle(ready);
  const going = hold.state.run;
  if (ended === "woken" && going !== undefined)
    await hold.append([], { timers: deadlineTimers(going, hold.journal.now()) });
  return ended;
}
