/** The mailbox of a held session: each entry becomes facts at once, also in mid-turn. Only this file reads it. */

import { childFacts, notifyParent, STOP_KEY } from "./call/tasks.ts";
import type { Hold } from "./hold/hold.ts";
import { expiryAnswer, resolution, withdrawn } from "./state/closing-facts.ts";
import { deadlineTimers, timeLeft } from "./state/deadline.ts";
import type { HaltReason } from "./state/decide.ts";
import type { RunState, SessionState } from "./state/session-state.ts";
import type { NewFact } from "./words/event.ts";
import { isStepOf, noticeTimer, readName, sleepTimer, sleptStep, type TimerSetting } from "./words/keys.ts";
import { LIMITS } from "./words/limits.ts";
import type { MailboxEntry, OpOf } from "./words/op.ts";
import { type Actor, type Answer, fits, mayAnswer } from "./words/request.ts";

type Reply = {
  readonly facts: readonly NewFact[];
  /** End the active run; the entry is consumed by its `run.finished`. */
  readonly halt?: HaltReason;
  /** End the active run once the facts are stored. */
  readonly interrupts?: boolean;
  readonly timers?: readonly TimerSetting[];
};

/** Moves what waits now, so that nothing is begun that an interrupt in the mailbox would end at once. */
export async function takeMail(hold: Hold): Promise<void> {
  for (let entry = await hold.journal.poll(); entry !== undefined; entry = await hold.journal.poll())
    await move(hold, entry);
}

/** Moves entries into the log as they come, until the hold ends. `busy` is true while one is being moved. */
export function readMail(hold: Hold): { readonly busy: () => boolean; readonly ended: Promise<void> } {
  let busy = false;
  const pump = async (): Promise<void> => {
    for (;;) {
      const entry = await hold.journal.next();
      busy = true;
      await move(hold, entry);
      busy = false;
    }
  };
  return { busy: () => busy, ended: pump() };
}

async function move(hold: Hold, entry: MailboxEntry): Promise<void> {
  if (entry.type === "child-finished") return heard(hold, entry.position, await childFacts(hold, entry.childSessionId));
  if (entry.type === "timer" && readName(entry.name).kind === "notify") {
    await notifyParent(hold, readName(entry.name).subject);
    return heard(hold, entry.position, []);
  }
  const running = hold.state.run?.id;
  const reply = replyTo(hold.state, entry, hold.journal.now());
  if (reply.halt !== undefined) hold.requestHalt(reply.halt, { position: entry.position });
  else {
    const back = hold.state.parent === undefined ? [] : reply.facts.filter(({ type }) => type === "input.withdrawn");
    const told = back.flatMap(({ runId }) => (runId === undefined ? [] : [runId]));
    const again = hold.journal.now() + LIMITS.tellParentAgainMs;
    const timers = [...(reply.timers ?? []), ...told.map((runId) => ({ name: noticeTimer(runId), at: again }))];
    await hold.append(reply.facts, { sync: told.length > 0, consumes: [entry.position], timers });
    for (const runId of told) await notifyParent(hold, runId);
  }
  if (reply.interrupts === true && hold.state.run?.id === running) hold.requestHalt("interrupted");
}

async function heard(hold: Hold, position: number, facts: readonly NewFact[]): Promise<void> {
  await hold.append(facts, { sync: facts.length > 0, consumes: [position] });
}

/** What an entry means for the session as it is now. Pure. Late and foreign entries answer with nothing. */
function replyTo(
  state: SessionState,
  entry: Exclude<MailboxEntry, { readonly type: "child-finished" }>,
  now: number,
): Reply {
  switch (entry.type) {
    case "op":
      return replyToOp(state, entry, now);
    case "timer":
      return replyToTimer(state, entry.name, now);
    default:
      return entry satisfies never;
  }
}

type OpEntry = Extract<MailboxEntry, { type: "op" }>;

function replyToOp(state: SessionState, entry: OpEntry, now: number): Reply {
  const { op, actor, accepted } = entry;
  switch (op.type) {
    case "send":
      return acceptInput(state, op, actor, accepted.inputId ?? entry.key, accepted.runId ?? entry.key);
    case "withdraw": {
      const waits = state.queue.some((input) => input.inputId === op.inputId && input.inputId !== state.run?.inputId);
      if (!waits) return { facts: [] };
      return {
        facts: [withdrawn(op.inputId, actor, state.queue.find(({ inputId }) => inputId === op.inputId)?.runId)],
      };
    }
    case "respond":
      return resolve(state, op, actor, now);
    case "interrupt": {
      const meant = state.run !== undefined && (op.runId === undefined || op.runId === state.run.id);
      if (meant) return { facts: [], halt: "interrupted" };
      // the parent ends a sub-agent for good: also what has not begun
      if (state.parent !== undefined && entry.key === STOP_KEY)
        return { facts: state.queue.map(({ inputId, runId }) => withdrawn(inputId, actor, runId)) };
      return { facts: withdrawal(state, op.runId, actor) };
    }
    case "update": {
      const { type: _type, sessionId: _sessionId, ...change } = op;
      return {
        facts: [{ type: "session.updated", key: `mail/${state.sessionId}/${entry.position}`, ...change, actor }],
      };
    }
    case "open":
    case "fork":
    case "remove":
      return { facts: [] }; // done by the engine; never in a mailbox
    default:
      return op satisfies never;
  }
}

/** An interrupt of a run that waits its turn takes its input back: one that names none, of the run that is about to begin. */
function withdrawal({ queue }: SessionState, runId: string | undefined, actor: Actor): readonly NewFact[] {
  const input = runId === undefined ? queue[0] : queue.find((queued) => queued.runId === runId);
  return input === undefined ? [] : [withdrawn(input.inputId, actor, input.runId)];
}

function acceptInput(state: SessionState, op: OpOf<"send">, actor: Actor, inputId: string, runId: string): Reply {
  const fact: NewFact = {
    type: "input.accepted",
    key: `input/${inputId}`,
    runId,
    inputId,
    parts: op.parts,
    ifBusy: op.ifBusy,
    ...(op.overrides !== undefined && { overrides: op.overrides }),
    actor,
  };
  return { facts: [fact], interrupts: op.ifBusy === "interrupt" && state.run !== undefined };
}

/** The answer is checked again here: what was open when it was sent may be closed now. */
function resolve(state: SessionState, op: OpOf<"respond">, actor: Actor, now: number): Reply {
  const request = state.requests[op.requestId];
  if (request === undefined || request.expiresAt <= now) return { facts: [] };
  if (!fits(request.body, op.answer) || !mayAnswer(request.body, actor)) return { facts: [] };
  return resolved(state, op.requestId, op.answer, actor);
}

function resolved(
  state: SessionState,
  requestId: string,
  answer: Answer,
  by: Actor | { readonly id: "expiry" },
): Reply {
  const { fact, timer } = resolution(requestId, answer, by, state.run?.id);
  return { facts: [fact], timers: [timer] };
}

/** A timer comes by the wall clock: one that the time of this hold has not reached yet is set again. */
function replyToTimer(state: SessionState, name: string, now: number): Reply {
  const { kind, subject } = readName(name);
  if (kind === "expiry") {
    const request = state.requests[subject];
    if (request === undefined) return { facts: [] };
    if (request.expiresAt > now) return { facts: [], timers: [{ name, at: request.expiresAt }] };
    return resolved(state, subject, expiryAnswer(request.body), { id: "expiry" });
  }
  if (kind === "deadline") return state.run?.id === subject ? replyToDeadline(state.run, now) : { facts: [] };
  return kind === "sleep" ? replyToSleep(state, subject, now) : { facts: [] };
}

/** A sleep ends once, in the call that sleeps: a timer of a run that is over changes nothing. */
function replyToSleep({ run }: SessionState, step: string, now: number): Reply {
  const name = sleptStep(step);
  const asleep = run?.calls.some(({ status, part }) => status === "started" && isStepOf(part.callId, step));
  if (run === undefined || asleep !== true || run.steps[name] !== undefined) return { facts: [] };
  const until = Number(run.steps[step]);
  if (until > now) return { facts: [], timers: [{ name: sleepTimer(step), at: until }] };
  return { facts: [{ type: "step.finished", key: name, runId: run.id, name, value: null }] };
}

/** A timer that fires too early is set again; while the run waits it is not: going on sets it. */
function replyToDeadline(run: RunState, now: number): Reply {
  return timeLeft(run, now) > 0 ? { facts: [], timers: deadlineTimers(run, now) } : { facts: [], halt: "deadline" };
}
