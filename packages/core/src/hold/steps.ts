/** Named steps of hooks and flows: recorded when they finish, answered from the log when the action runs again. */

import type { StepPerform } from "../ports/tool.ts";
import { CapstanError, messageOf } from "../words/errors.ts";
import type { Limits, NewFact, Rerun } from "../words/event.ts";
import { type Json, sha256, toJson } from "../words/json.ts";
import type { Usage } from "../words/message.ts";
import type { Hold } from "./hold.ts";
import { askDoubt } from "./requests.ts";

/** A `never` step whose outcome a crash left open and nobody could settle. Ends its call with status `unknown`. */
export class UnknownOutcome extends Error {}

type StepOptions = {
  /** Unique in the run: the action's name and the step's. */
  readonly name: string;
  readonly rerun: Rerun;
  readonly signal: AbortSignal;
  /** The call that a question about a doubt belongs to. */
  readonly callId?: string;
  /** Of a step that asks a model: what is set aside for it, and what it came to; of a failed one the value is `null`. */
  readonly paid?: {
    readonly reserved?: Limits | undefined;
    settled(value: Json): { readonly usage?: Usage; readonly lost?: Limits | undefined };
  };
};

/** Performs the step once, as far as anyone can know, and returns its recorded value, or throws its recorded failure. */
export async function performStep(hold: Hold, options: StepOptions, perform: StepPerform<Json | void>): Promise<Json> {
  const { name, rerun, callId, signal } = options;
  const { run } = hold;
  const finished = run.steps[name];
  const failure = run.stepFailures[name];
  if (failure !== undefined) throw new Error(failure);
  if (finished !== undefined) return finished;
  signal.throwIfAborted();
  const foreign = run.stepIntents[name];
  if (rerun === "never" && foreign !== undefined && foreign !== hold.journal.attemptId) {
    const settled = await settleDoubt(hold, options, foreign);
    if (settled !== "run-again") return record(hold, options, null);
  }
  if (rerun !== "safe") await intend(hold, options);
  if (options.paid !== undefined) return recordPaid(hold, options, perform);
  if (callId === undefined) return record(hold, options, await performed(hold, options, perform));
  hold.stepping.set(callId, (hold.stepping.get(callId) ?? 0) + 1);
  try {
    return await record(hold, options, await performed(hold, options, perform));
  } catch (error) {
    // what a flow catches it must catch again when it runs again
    if (!signal.aborted && !hold.journal.signal.aborted) await record(hold, options, null, messageOf(error));
    throw error;
  } finally {
    hold.stepping.set(callId, (hold.stepping.get(callId) ?? 1) - 1);
    hold.wake();
  }
}

/** Paid is what fails, too, and what an interrupt stops. */
async function recordPaid(hold: Hold, options: StepOptions, perform: StepPerform<Json | void>): Promise<Json> {
  try {
    return await record(hold, options, await performed(hold, options, perform));
  } catch (error) {
    if (!hold.journal.signal.aborted) await record(hold, options, null, messageOf(error));
    throw error;
  }
}

async function performed(hold: Hold, { name, signal }: StepOptions, perform: StepPerform<Json | void>): Promise<Json> {
  const runId = hold.run.id;
  const idempotencyKey = sha256(`${hold.state.sessionId}/${name}`);
  const value = await hold.journal.step(name, async () => {
    signal.throwIfAborted(); // halted while the intent went to the disk: it does not begin
    return toJson(`step ${name} returned`, await perform({ signal, idempotencyKey }));
  });
  if (hold.state.run?.id !== runId) throw new Error(`step ${name} ended after its run`);
  return value;
}

async function intend(hold: Hold, { name, rerun, paid }: StepOptions): Promise<void> {
  const { attemptId } = hold.journal;
  const intent: NewFact = {
    type: "step.started",
    key: `${name}/started/${attemptId}`,
    runId: hold.run.id,
    name,
    attemptId,
    rerun,
    ...(paid?.reserved !== undefined && { reserved: paid.reserved }),
  };
  await hold.append([intent], { sync: true });
}

async function record(hold: Hold, { name, rerun, paid }: StepOptions, value: Json, failed?: string): Promise<Json> {
  const { usage, lost } = paid?.settled(value) ?? {};
  const failure = {
    ...(failed !== undefined && { failed }),
    ...(usage !== undefined && { usage }),
    ...(lost !== undefined && { lost }),
  };
  const runId = hold.state.run?.id; // what a hook has left behind may end after its run
  const of = runId === undefined ? {} : { runId };
  const fact: NewFact = { type: "step.finished", key: `${name}/finished`, ...of, name, value, ...failure };
  await hold.append([fact], { sync: rerun !== "safe" });
  return value;
}

/** The question is named by the attempt that is in doubt, so that it is the same one in every later hold. */
async function settleDoubt(
  hold: Hold,
  { name, callId }: StepOptions,
  attemptId: string,
): Promise<"run-again" | "skip" | "it-happened"> {
  const startedAt = hold.journal.now(); // when the doubt was found: the intent's own time is not in the state
  const doubt = { tool: name, input: null, startedAt, name: `${name}/doubt/${attemptId}` };
  const outcome = callId === undefined ? "unknown" : await askDoubt(hold, { callId, ...doubt });
  if (outcome === "unknown") {
    throw new UnknownOutcome(
      `Step ${name} may have happened before a crash; its outcome is unknown. Check before any repeat.`,
    );
  }
  return outcome;
}

/** Refuses a name that was already used in this run of the action. */
export function uniqueNames(subject: string): (name: string) => void {
  const used = new Set<string>();
  return (name) => {
    if (used.has(name))
      throw new CapstanError(
        "flow-diverged",
        `${subject} uses the step name ${JSON.stringify(name)} twice; names are keys and must differ`,
      );
    used.add(name);
  };
}
