/** Sub-agents: each a session of its own, started by one step of a call, heard of again by mail when it ends. */

import { grantFor, type Share } from "./budget.ts";
import { CapstanError } from "./errors.ts";
import type { FactOf, NewFact, Parent, StopReason } from "./event.ts";
import type { Hold } from "./hold.ts";
import { type Json, sha256 } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { addUsage, NO_USAGE, text, textOf, type Usage } from "./message.ts";
import { policyText } from "./policy.ts";
import type { TaskState } from "./session-state.ts";

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
  const { state } = hold;
  const { run } = state;
  if (run === undefined) throw new Error(`task ${task.taskId} outside a run`);
  const { taskId, callId, background } = task;
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
      mode: agent.permission.mode ?? policyText(hold).mode,
      metadata: state.metadata,
      parent: parentOf(hold, callId),
      ...(state.workspace !== undefined && { workspace: state.workspace }),
    },
    { idempotencyKey: "spawn", actor },
  );
  const grant = open === undefined ? grantFor(hold, agent, share) : open.grant;
  if (open === undefined) {
    const title = `${agent.name}: ${task.input.split("\n", 1)[0] ?? ""}`.slice(0, LIMITS.taskTitle).toWellFormed();
    const started: NewFact = {
      type: "task.started",
      key: `${taskId}/task`,
      runId: run.id,
      taskId,
      kind: "agent",
      callId,
      childSessionId,
      title,
      background,
      ...(grant !== undefined && { grant }),
    };
    await hold.append([started], { sync: true });
  }
  const overrides = {
    ...(grant !== undefined && { limits: grant }),
    ...(task.outputSchema !== undefined && { outputSchema: task.outputSchema }),
  };
  const parts = [text(hold.definitions.redactor.text(task.input))];
  await engine.submit(
    {
      type: "send",
      sessionId: childSessionId,
      parts,
      ifBusy: "queue",
      ...(Object.keys(overrides).length > 0 && { overrides }),
    },
    { idempotencyKey: "spawn", actor },
  );
}

/** The same task of the same session has the same child after a restart. */
function childIdOf(sessionId: string, taskId: string): string {
  return `ses_${sha256(`${sessionId}/${taskId}`).slice(0, 24)}`;
}

function refuseTooMany({ state }: Hold): void {
  const depth = state.parent?.depth ?? 0;
  if (depth >= LIMITS.spawnDepth) throw new Error(`Sub-agents may stand at most ${LIMITS.spawnDepth} deep`);
  if ((state.run?.spawned ?? 0) >= LIMITS.spawnsPerRun)
    throw new Error(`One run may start at most ${LIMITS.spawnsPerRun} sub-agents`);
}

function parentOf(hold: Hold, callId: string): Parent {
  const { state, agent } = hold;
  return {
    sessionId: state.sessionId,
    runId: state.run?.id ?? "",
    callId,
    depth: (state.parent?.depth ?? 0) + 1,
    agents: [...(state.parent?.agents ?? []), agent.name],
    policies: [...(state.parent?.policies ?? []), policyText(hold)],
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

type TaskEnd = Pick<FactOf<"task.finished">, "status" | "summary" | "output" | "usage" | "calls">;

async function endOfChild(hold: Hold, childSessionId: string): Promise<TaskEnd | undefined> {
  const { engine } = hold.definitions;
  let runId: string | undefined;
  let said = "";
  try {
    for await (const fact of engine.read(childSessionId, {
      types: ["input.accepted", "message.added", "run.finished"],
    })) {
      if (fact.type === "input.accepted") runId ??= fact.runId;
      if (fact.type === "message.added" && fact.message.role === "assistant") said = textOf(fact.message.parts);
      if (fact.type === "run.finished" && fact.runId === runId) return taskEnd(fact, said);
    }
  } catch (error) {
    if (!CapstanError.is(error, "session-not-found", "session-damaged")) throw error;
    return { status: "lost", summary: error.message };
  }
  return undefined;
}

function taskEnd(fact: FactOf<"run.finished">, said: string): TaskEnd {
  const { reason, output, usage, treeUsage = usage, calls = 0, error } = fact;
  const summary = reason === "end-turn" ? said : (error?.message ?? `It ended with ${reason}. ${said}`.trim());
  return {
    status: STATUS[reason] ?? "failed",
    summary,
    ...(output !== undefined && { output }),
    usage: treeUsage,
    calls,
  };
}

const STATUS: Partial<Record<StopReason, TaskEnd["status"]>> = { "end-turn": "completed", interrupted: "stopped" };

/** Ends what the run has started and still waits for. Submitted before the run's own end, which would forget them. */
export async function stopTasks(hold: Hold): Promise<readonly NewFact[]> {
  const { run } = hold.state;
  const open = Object.values(hold.state.tasks).filter((task) => task.runId === run?.id && !task.background);
  if (run === undefined || open.length === 0) return [];
  return Promise.all(open.map((task) => stopTask(hold, task)));
}

export async function stopTask(hold: Hold, { taskId, runId, childSessionId }: TaskState): Promise<NewFact> {
  const { engine } = hold.definitions;
  const actor = hold.state.run?.actor ?? { id: "parent", door: "parent" };
  let usage: Usage | undefined;
  try {
    await engine.submit({ type: "interrupt", sessionId: childSessionId }, { idempotencyKey: "stop", actor });
    for await (const fact of engine.read(childSessionId, { types: ["turn.finished", "task.finished"] })) {
      if ("usage" in fact && fact.usage !== undefined) usage = addUsage(usage ?? NO_USAGE, fact.usage);
    }
  } catch (error) {
    if (!CapstanError.is(error, "session-not-found")) throw error; // it had not been made yet
  }
  return {
    type: "task.finished",
    key: `${taskId}/task/finished`,
    runId,
    taskId,
    status: "stopped",
    summary: "Stopped with the run that started it.",
    ...(usage !== undefined && { usage }),
  };
}

/** The timer that tells the parent of a finished run again, should this process end before it could. */
export function noticeTimer(runId: string): string {
  return `notify/${runId}`;
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
