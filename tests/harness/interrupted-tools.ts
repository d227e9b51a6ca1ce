/** Tools and hooks of every kind that an interrupt can meet. */

import { type Clock, flowTool, jsonSchema, plugin, type Plugin, sleep, type Tool, tool } from "@capstan/core";

const anything = jsonSchema<{ readonly n?: number }>({ type: "object" });
/** Long enough that an interrupt finds it at work. */
const WORK_MS = 2;

export const TOOL_NAMES = ["quick", "slow", "deaf", "sturdy", "asks", "client", "flow"] as const;
export type ToolName = (typeof TOOL_NAMES)[number];

export function interruptedTools(clock: Clock): readonly Tool[] {
  return Object.values({
    quick: tool({ name: "quick", description: "Reads.", input: anything, rerun: "safe", execute: () => "read" }),
    slow: tool({
      name: "slow",
      description: "Obeys its signal.",
      input: anything,
      rerun: "never",
      execute: async (_input, { signal }) => (await sleep(clock, WORK_MS, signal), "worked"),
    }),
    deaf: tool({
      name: "deaf",
      description: "Does not hear its signal.",
      input: anything,
      rerun: "never",
      execute: async () => (await sleep(clock, WORK_MS * 300), "late"),
    }),
    sturdy: tool({
      name: "sturdy",
      description: "Is waited for.",
      input: anything,
      rerun: "never",
      interruptible: false,
      execute: async () => (await sleep(clock, WORK_MS), "written"),
    }),
    asks: tool({ name: "asks", description: "Asks first.", input: anything, permission: "ask", execute: () => "done" }),
    client: tool({ name: "client", description: "Runs elsewhere.", input: anything, permission: "allow" }),
    flow: flowTool({
      name: "flow",
      description: "Several effects.",
      input: anything,
      permission: "allow",
      flow: async (_input, { step, signal }) => {
        await step("one", () => 1);
        await step("two", { rerun: "keyed" }, () => sleep(clock, WORK_MS, signal));
        return "flown";
      },
    }),
  } satisfies Record<ToolName, Tool>);
}

export const interruptedHooks: Plugin = plugin({
  name: "hooks",
  input: async (message, context, next) => (await context.step("seen", () => 1), next(message)),
  tool: async (call, _context, next) => next(call),
  prepare: async (_request, context) => (await context.step("noted", () => 1), undefined),
  stop: async (_state, context) => void (await context.step("left", () => 1)),
});
