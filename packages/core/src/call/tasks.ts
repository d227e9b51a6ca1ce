/** Sub-agents: each a session of its own, started by one step of a call, heard of again by mail when it ends. */

import type { Hold } from "../hold/hold.ts";
import { effectiveMode, policyTexts } from "../hold/policy.ts";
import { grantFor, type Share } from "../model/budget.ts";
import type { TaskState } from "../state/session-state.ts";
import { CapstanError } from "../words/errors.ts";
import type { FactOf, Limits, NewFact, Overrides, Parent, StopReason } from "../words/event.ts";
import { type Json, sha256 } from "../words/json.ts";
import { noticeTimer } from "../words/keys.ts";
import { LIMITS } from "../words/limits.ts";
import { addUsage, NO_USAGE, text, textOf, tokensOf, type Usage } from "../words/message.ts";
import type { Actor } from "../words/request.ts";

export type Task = {
  /** The key of the step that starts it. */
  readonly taskId: string;
  readonly callId: string;
  readonly agent: string;
  readonly input: string;
  readonly background: boolean;
  /** JSON Schema of its answer, in place of the agent's. */
  readonly outputSchema?: Json;
};

/** Starts the task, once: the child session, the intent, then its input, under keys made of the task. */
export async function startTask(hold: Hold, task: Task, share: Share): Promise<void> {
  const { engine } = hold.definitions;
  const { state, run } = hold;
  const { taskId, callId } = task;
  const agent = hold.definitions.find(task.agent);
  if (agent === undefined) throw new Error(`There is no agent named ${JSON.stringify(task.agent)}`);
  const childSessionId = childIdOf(state.sessionId, taskId);
  const open = state.tasks[taskId];
  if (open === undefined) refuseTooMany(hold);
  const { actor } = run;
  // the session first: whoever reads of the task finds it. It has nothing to do before its input, which follows the intent
  await engine.submit(
    {
      type: "open",
      sessionId: childSessionId,
      agent: agent.name,
      mode: agent.permission.mode ?? effectiveMode(state),
      metadata: state.metadata,
      parent: parentOf(hold, callId),
      ...(state.workspace !== undefined && { workspace: state.workspace }),
    },
    { idempotencyKey: "spawn", actor },
  );
  if (hold.state.run?.id !== run.id) throw new Error(`The run ended before task ${taskId} began`); // nobody would stop it
  if (open === undefined) refuseTooMany(hold); // those asked for in one breath pass the first look together
  const grant = open === undefined ? grantFor(hold, agent, share) : open.grant;
  if (open === undefined) {
    await hold.append([startedFact(run.id, task, { childSessionId, grant, agent: agent.name })], { sync: true });
  }
  const overrides = {
    ...(grant !== undefined && { limits: grant }),
    ...(task.outputSchema !== undefined && { outputSchema: task.outputSchema }),
    ...(run.overrides?.plugins !== undefined && { plugins: run.overrides.plugins }),
  };
  if (hold.state.tasks[taskId] === undefined) return; // it was ended while its start went to the disk
  try {
    await give(hold, { childSessionId, actor, overrides }, task.input);
  } catch (error) {
    // the name is the key: a flow that words its task anew after a restart gets the task that it gave
    if (open === undefined || !CapstanError.is(error, "idempotency-conflict")) throw error;
  }
}

type Receiver = { readonly childSessionId: string; readonly actor: Actor; readonly overrides: Overrides };

async function give(hold: Hold, { childSessionId, actor, overrides }: Receiver, input: string): Promise<void> {
  const { engine, redactor } = hold.definitions;
  await engine.submit(
    {
      type: "send",
      sessionId: childSessionId,
      parts: [text(redactor.text(input))],
      ifBusy: "queue",
      ...(Object.keys(overrides).length > 0 && { overrides }),
    },
    { idempotencyKey: "spawn", actor },
  );
}

type Started = { readonly childSessionId: string; readonly grant: Limits | undefined; readonly agent: string };

function startedFact(runId: string, task: Task, { childSessionId, grant, agent }: Started): NewFact {
  const { taskId, callId, background, input } = task;
  const title = `${agent}: ${input.split("\n", 1)[0] ?? ""}`.slice(0, LIMITS.taskTitle).toWellFormed();
  const of = grant === undefined ? {} : { grant };
  return {
    type: "task.started",
    key: `${taskId}/task`,
    runId,
    taskId,
    kind: "agent",
    callId,
    childSessionId,
    title,
    background,
    ...of,
  };
}

/** The same task of the same session has the same child after a restart. */
function childIdOf(sessionId: string, taskId: string): string {
  return `ses_${sha256(`${sessionId}/${taskId}`).slice(0, 24)}`;
}

function refuseTooMany({ state, run }: Hold): void {
  const depth = state.parent?.depth ?? 0;
  if (depth >= LIMITS.spawnDepth) throw new Error(`Sub-agents may stand at most ${LIMITS.spawnDepth} deep`);
  if (run.spawned >= LIMITS.spawnsPerRun)
    throw new Error(`One run may start at most ${LIMITS.spawnsPerRun} sub-agents`);
}

function parentOf(hold: Hold, callId: string): Parent {
  const { state, agent } = hold;
  return {
    sessionId: state.sessionId,
    runId: hold.run.id,
    callId,
    depth: (state.parent?.depth ?? 0) + 1,
    agents: [...(state.parent?.agents ?? []), agent.name],
    policies: [...(state.parent?.policies ?? []), ...policyTexts(hold)],
  };
}

/** What the mail of a child comes to: the end of its task, or nothing while the run that does the task goes on. */
export async function childFacts(hold: Hold, childSessionId: string): Promise<readonly NewFact[]> {
  const task = Object.values(hold.state.tasks).find((open) => open.childSessionId === childSessionId);
  if (task === undefined) return []; // told before, or given up
  const end = await endOfChild(hold, childSessionId);
  if (end === undefined) return [];
  return [
    { type: "task.finished", key: `${task.taskId}/task/finished`, runId: task.runId, taskId: task.taskId, ...end },
  ];
}

type TaskEnd = Pick<FactOf<"task.finished">, "status" | "summary" | "output" | "usage" | "calls" | "lost" | "wallMs">;

async function endOfChild(hold: Hold, childSessionId: string): Promise<TaskEnd | undefined> {
  const { engine } = hold.definitions;
  let input: FactOf<"input.accepted"> | undefined;
  let said = "";
  try {
    for await (const fact of engine.read(childSessionId, {
      types: ["input.accepted", "input.withdrawn", "message.added", "run.finished"],
    })) {
      if (fact.type === "input.accepted") input ??= fact;
      if (fact.type === "message.added" && fact.message.role === "assistant") said = textOf(fact.message.parts);
      if (fact.type === "run.finished" && fact.runId === input?.runId) return taskEnd(fact, said);
      if (fact.type === "input.withdrawn" && fact.inputId === input?.inputId)
        return { status: "stopped", summary: "Its task was taken back before it began." };
    }
  } catch (error) {
    if (!CapstanError.is(error, "session-not-found", "session-damaged")) throw error;
    return { status: "lost", summary: error.message };
  }
  return undefined;
}

function taskEnd(fact: FactOf<"run.finished">, said: string): TaskEnd {
  const { reason, output, usage, treeUsage = usage, calls = 0, error, lost, wallMs } = fact;
  const summary = reason === "end-turn" ? said : (error?.message ?? `It ended with ${reason}. ${said}`.trim());
  return {
    status: STATUS[reason] ?? "failed",
    summary,
    ...(output !== undefined && { output }),
    usage: treeUsage,
    calls,
    ...(lost !== undefined && { lost }),
    ...(wallMs !== undefined && { wallMs }),
  };
}

const STATUS: Partial<Record<StopReason, TaskEnd["status"]>> = { "end-turn": "completed", interrupted: "stopped" };

/** Ends what the run has started and still waits for. Submitted before the run's own end, which would forget them. */
export async function stopTasks(hold: Hold): Promise<readonly NewFact[]> {
  const { run, state } = hold;
  const open = Object.values(state.tasks).filter((task) => task.runId === run.id && !task.background);
  return Promise.all(open.map((task) => stopTask(hold, task)));
}

/** The key of the interrupt by which a parent ends a child, whether it has begun or not. */
export const STOP_KEY = "stop";

async function stopTask(hold: Hold, task: TaskState): Promise<NewFact> {
  const { taskId, runId, childSessionId, grant } = task;
  const { engine } = hold.definitions;
  const fact = { type: "task.finished", key: `${taskId}/task/finished`, runId, taskId } as const;
  const ended = await endOfChild(hold, childSessionId);
  if (ended !== undefined) return { ...fact, ...ended };
  const { actor } = hold.run;
  let usage: Usage | undefined;
  try {
    await engine.submit({ type: "interrupt", sessionId: childSessionId }, { idempotencyKey: STOP_KEY, actor });
    for await (const fact of engine.read(childSessionId, { types: ["turn.finished", "task.finished"] })) {
      if ("usage" in fact && fact.usage !== undefined) usage = addUsage(usage ?? NO_USAGE, fact.usage);
    }
  } catch (error) {
    if (!CapstanError.is(error, "session-not-found")) throw error; // it had not been made yet
  }
  return {
    ...fact,
    status: "stopped",
    summary: "Stopped with the run that started it.",
    ...(usage !== undefined && { usage }),
    ...lostOf(grant, usage),
  };
}

/** What a child that was told to stop may spend until it hears that: no more than what is left of its grant. */
function lostOf(grant: Limits | undefined, usage: Usage = NO_USAGE): { readonly lost?: Limits } {
  if (grant?.tokens === undefined && grant?.microUsd === undefined) return {};
  const { tokens = 0, microUsd = 0 } = grant;
  const spent = { tokens: tokensOf(usage), microUsd: usage.costMicroUsd ?? 0 };
  return { lost: { tokens: Math.max(0, tokens - spent.tokens), microUsd: Math.max(0, microUsd - spent.microUsd) } };
}

/** Puts the end of a run into the parent's mailbox, and forgets the timer that would do it again. */
export async function notifyParent(hold: Hold, runId: string): Promise<void> {
  const { parent, sessionId } = hold.state;
  if (parent === undefined) return;
  try {
    await hold.definitions.engine.childFinished(parent.sessionId, sessionId, runId);
  } catch (error) {
    if (!CapstanError.is(error, "session-not-found")) throw error; // removed: nobody waits
  }
  await hold.append([], { timers: [{ name: noticeTimer(runId), at: undefined }] });
}

/** A new hold drives the children that its tasks wait for, and looks whether some have ended meanwhile. */
export async function resumeTasks(hold: Hold): Promise<void> {
  for (const { childSessionId } of Object.values(hold.state.tasks)) {
    hold.definitions.engine.adopt(childSessionId);
    const facts = await childFacts(hold, childSessionId);
    if (facts.length > 0) await hold.append(facts, { sync: true });
  }
}
