/** Tasks with dependencies that the model keeps: tools to create, update, list and get them, shown as the session's plan. */

import { type Fact, flowTool, type Json, jsonSchema, type Plugin, plugin, text, type Tool } from "@capstan/core";
import {
  createTask,
  openBlockers,
  type Task,
  type TaskChange,
  type TaskCreate,
  type TaskUpdate,
  toPlan,
  unknownTask,
  updateTask,
} from "./task-graph.ts";

type Own = {
  readonly tasks: readonly Task[];
  /** The newest change, for a hook that runs again after a crash. */
  readonly last: { readonly callId: string; readonly answer: string };
};
/** What a change writes down. */
type Change = { readonly callId: string; readonly tool: string; readonly input: Json };

const NAME = "tasks";
const TEXT = { type: "string", minLength: 1, maxLength: 500 };
const LONG = { type: "string", maxLength: 8_000, description: "Whatever whoever does it needs to know." };
const IDS = { type: "array", items: { type: "string" }, maxItems: 100 };

const TOOLS: readonly Tool[] = [
  taskTool("task_create", "Writes down a task. Tasks that must be done before it stand in blocked_by.", ["subject"], {
    subject: { ...TEXT, description: "What is to be done, in a few words." },
    description: LONG,
    blocked_by: IDS,
  }),
  taskTool(
    "task_update",
    "Changes a task: its status as the work goes on, its text, what it waits for. One that waits for an unfinished one cannot begin.",
    ["id"],
    {
      id: TEXT,
      subject: TEXT,
      description: LONG,
      status: { enum: ["pending", "in_progress", "completed", "cancelled"] },
      add_blocked_by: IDS,
      remove_blocked_by: IDS,
    },
  ),
  taskTool("task_list", "Lists all tasks with their status and what they wait for.", [], {}),
  taskTool("task_get", "Shows one task whole.", ["id"], { id: TEXT }),
];

export function taskList(): Plugin {
  return plugin<Own>({
    name: NAME,
    tools: TOOLS,
    fold: { start: { tasks: [], last: { callId: "", answer: "" } }, next: (own, fact) => nextOwn(own, fact) },
    async tool(call, context, next) {
      if (!TOOLS.some(({ name }) => name === call.name)) return next(call);
      const { own } = context;
      if (own.last.callId === call.callId) {
        await context.showPlan(toPlan(own.tasks)); // a crash came after the change was written
        return context.answer(own.last.answer);
      }
      const output = await next(call);
      if (output.isError === true || output.output === undefined) return output;
      const input = output.output; // as it was permitted
      const answer = readFrom(own.tasks, call.name, input);
      if (answer !== undefined) return context.answer(answer.text, { isError: answer.isError });
      const change: Change = { callId: call.callId, tool: call.name, input };
      const changed = apply(own.tasks, change);
      if (!changed.ok) return context.answer(changed.problem, { isError: true });
      await context.record(change);
      await context.showPlan(toPlan(changed.tasks));
      return context.answer(told(changed));
    },
  });
}

/** Flows of one turn run one after the other: each call sees what the one before it changed. */
function taskTool(name: string, description: string, required: readonly string[], properties: Json): Tool {
  return flowTool<Json>({
    name,
    description,
    input: jsonSchema<Json>({ type: "object", properties, required, additionalProperties: false }),
    kind: "think",
    permission: "allow",
    flow: (input) => ({ content: [text("Done.")], output: input }),
  });
}

/** The same facts give the same tasks: what was allowed when it was written down is so again. */
function nextOwn(own: Own, fact: Fact): Own {
  if (fact.type !== "data" || fact.name !== `plugin/${NAME}`) return own;
  const change = fact.data as unknown as Change; // written above
  const changed = apply(own.tasks, change);
  return changed.ok ? { tasks: changed.tasks, last: { callId: change.callId, answer: told(changed) } } : own;
}

function apply(tasks: readonly Task[], { tool, input }: Change): TaskChange {
  return tool === "task_create"
    ? createTask(tasks, input as unknown as TaskCreate) // checked by the tool's schema
    : updateTask(tasks, input as unknown as TaskUpdate);
}

function told({ tasks, task }: Extract<TaskChange, { readonly ok: true }>): string {
  return lineOf(tasks, task);
}

/** What a tool that only reads answers; nothing for one that changes. */
function readFrom(
  tasks: readonly Task[],
  tool: string,
  input: Json,
): { readonly text: string; readonly isError: boolean } | undefined {
  if (tool === "task_list") {
    return { text: tasks.map((task) => lineOf(tasks, task)).join("\n") || "There are no tasks.", isError: false };
  }
  if (tool !== "task_get") return undefined;
  const { id } = input as { readonly id: string }; // checked by the tool's schema
  const task = tasks.find((one) => one.id === id);
  if (task === undefined) return { text: unknownTask(id), isError: true };
  const description = task.description === undefined ? "" : `\n\n${task.description}`;
  return { text: lineOf(tasks, task) + description, isError: false };
}

function lineOf(tasks: readonly Task[], task: Task): string {
  const waits = openBlockers(tasks, task).map(({ id }) => id);
  return `${task.id}. [${task.status}] ${task.subject}${waits.length === 0 ? "" : ` (waits for ${waits.join(", ")})`}`;
}
