/** Tasks that wait for each other: a pure state and the changes that are allowed in it. */

import type { PlanEntry } from "@capstan/core";

export type TaskStatus = "pending" | "in_progress" | "completed" | "cancelled";
export type Task = {
  readonly id: string;
  readonly subject: string;
  readonly description?: string;
  readonly status: TaskStatus;
  /** Ids of tasks that must be completed or cancelled first. */
  readonly blockedBy: readonly string[];
};
export type TaskCreate = {
  readonly subject: string;
  readonly description?: string;
  readonly blocked_by?: readonly string[];
};
export type TaskUpdate = {
  readonly id: string;
  readonly subject?: string;
  readonly description?: string;
  readonly status?: TaskStatus;
  readonly add_blocked_by?: readonly string[];
  readonly remove_blocked_by?: readonly string[];
};
/** The tasks after the change and the task it was about; or why it cannot be. */
export type TaskChange =
  | { readonly ok: true; readonly tasks: readonly Task[]; readonly task: Task }
  | { readonly ok: false; readonly problem: string };

const MAX_TASKS = 500;

/** Ids count up from 1: tasks are never taken out. */
export function createTask(tasks: readonly Task[], given: TaskCreate): TaskChange {
  if (tasks.length >= MAX_TASKS) return refused(`There are ${MAX_TASKS} tasks already; finish some of them.`);
  const task: Task = {
    id: String(tasks.length + 1),
    subject: given.subject,
    ...(given.description !== undefined && { description: given.description }),
    status: "pending",
    blockedBy: [...new Set(given.blocked_by)],
  };
  return checked([...tasks, task], task);
}

export function updateTask(tasks: readonly Task[], given: TaskUpdate): TaskChange {
  const old = tasks.find(({ id }) => id === given.id);
  if (old === undefined) return refused(unknownTask(given.id));
  const kept = old.blockedBy.filter((id) => !(given.remove_blocked_by ?? []).includes(id));
  const task: Task = {
    ...old,
    ...(given.subject !== undefined && { subject: given.subject }),
    ...(given.description !== undefined && { description: given.description }),
    ...(given.status !== undefined && { status: given.status }),
    blockedBy: [...new Set([...kept, ...(given.add_blocked_by ?? [])])],
  };
  return checked(
    tasks.map((one) => (one === old ? task : one)),
    task,
  );
}

/** Tasks that the task still waits for. */
export function openBlockers(tasks: readonly Task[], { blockedBy }: Task): readonly Task[] {
  return tasks.filter(({ id, status }) => blockedBy.includes(id) && status !== "completed" && status !== "cancelled");
}

export function unknownTask(id: string): string {
  return `There is no task ${JSON.stringify(id)}.`;
}

export function toPlan(tasks: readonly Task[]): readonly PlanEntry[] {
  return tasks.map(({ subject, status }) => {
    return { content: subject, priority: "medium", status: status === "in_progress" ? "in-progress" : status };
  });
}

function checked(tasks: readonly Task[], task: Task): TaskChange {
  const missing = task.blockedBy.find((id) => !tasks.some((one) => one.id === id));
  if (missing !== undefined) return refused(unknownTask(missing));
  const cycle = cycleThrough(tasks, task.id);
  if (cycle !== undefined) return refused(`Tasks would wait for each other in a circle: ${cycle.join(" -> ")}.`);
  const waits = openBlockers(tasks, task).map(({ id }) => id);
  if (waits.length > 0 && (task.status === "in_progress" || task.status === "completed"))
    return refused(`Task ${task.id} waits for ${waits.join(", ")}; finish that first.`);
  return { ok: true, tasks, task };
}

/** A way along `blockedBy` from the task back to itself. */
function cycleThrough(tasks: readonly Task[], start: string): readonly string[] | undefined {
  const blockers = new Map(tasks.map(({ id, blockedBy }) => [id, blockedBy]));
  const from = new Map<string, string>();
  const open = [start];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const next of blockers.get(at) ?? []) {
      if (next === start) {
        const way = [start];
        for (let step: string | undefined = at; step !== undefined; step = from.get(step)) way.push(step);
        return way.toReversed();
      }
      if (from.has(next)) continue;
      from.set(next, at);
      open.push(next);
    }
  }
  return undefined;
}

function refused(problem: string): TaskChange {
  return { ok: false, problem };
}
