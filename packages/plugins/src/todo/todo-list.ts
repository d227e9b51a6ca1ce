/** A todo list that the model keeps and people see: one tool that replaces the list, shown as the session's plan. */

import { flowTool, type Json, jsonSchema, type PlanEntry, type Plugin, plugin, text } from "@capstan/core";

type TodoInput = {
  readonly todos: readonly {
    readonly content: string;
    readonly status: "pending" | "in_progress" | "completed" | "cancelled";
    readonly priority?: PlanEntry["priority"];
  }[];
};
type Own = {
  readonly entries: readonly PlanEntry[];
  /** The call that wrote the list is no longer in the conversation. */
  readonly isForgotten: boolean;
};

const TODO_TOOL = "todo_write";
const INPUT: Json = {
  type: "object",
  properties: {
    todos: {
      type: "array",
      maxItems: 100,
      description: "The whole list, in the order of the work.",
      items: {
        type: "object",
        properties: {
          content: { type: "string", minLength: 1, maxLength: 500, description: "What is to be done." },
          status: { enum: ["pending", "in_progress", "completed", "cancelled"] },
          priority: { enum: ["high", "medium", "low"], description: "Default medium." },
        },
        required: ["content", "status"],
        additionalProperties: false,
      },
    },
  },
  required: ["todos"],
  additionalProperties: false,
};

const writeTool = flowTool<TodoInput>({
  name: TODO_TOOL,
  description:
    "Writes down the steps of a longer piece of work and keeps them up to date, for you and for the user who watches. Each " +
    "call replaces the whole list. Keep one step in_progress, and mark each completed as soon as it is.",
  input: jsonSchema<TodoInput>(INPUT),
  kind: "think",
  title: ({ todos }) => `Plan: ${todos.length} step${todos.length === 1 ? "" : "s"}`,
  permission: "allow",
  // the hook below writes what was permitted
  flow: ({ todos }) => ({ content: [text("Written.")], output: todos as unknown as Json }),
});

/** After a compaction the list is shown to the model again, until it writes it anew. */
export function todoList(): Plugin {
  return plugin<Own>({
    name: "todo",
    tools: [writeTool],
    fold: {
      start: { entries: [], isForgotten: false },
      next(own, fact) {
        if (fact.type === "plan.updated") return { entries: fact.entries, isForgotten: false };
        return fact.type === "context.compacted" && !own.isForgotten ? { ...own, isForgotten: true } : own;
      },
    },
    prepare(_request, { own }) {
      if (!own.isForgotten || own.entries.length === 0) return;
      return { tail: [text(`<system>Your todo list stands as:\n${linesOf(own.entries)}</system>`)] };
    },
    async tool(call, context, next) {
      const output = await next(call);
      if (call.name !== TODO_TOOL || output.isError === true || !Array.isArray(output.output)) return output;
      const todos = output.output as unknown as TodoInput["todos"]; // given by the tool
      const entries = todos.map(({ content, status, priority = "medium" }): PlanEntry => {
        return { content, priority, status: status === "in_progress" ? "in-progress" : status };
      });
      await context.showPlan(entries);
      const open = entries.filter(({ status }) => status === "pending" || status === "in-progress").length;
      return context.answer(`Written. Open: ${open} of ${entries.length}.`);
    },
  });
}

function linesOf(entries: readonly PlanEntry[]): string {
  return entries.map(({ content, status }) => `- [${status}] ${content}`).join("\n");
}
