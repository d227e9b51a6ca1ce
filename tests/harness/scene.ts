/** The agent of the kill harness: a model that follows the plan in its input, and one tool of every kind. */

import { agent, flowTool, jsonSchema, sleep, systemClock, tool } from "@capstan/core";
import type { Agent, Message, Model, ModelEvent, ModelRequest, Rerun, Tool } from "@capstan/core";
import type { Outside } from "./outside.ts";
import type { Random } from "./random.ts";

/** What an input asks for: the calls of each turn by tool name. Its text is this as JSON. */
export type Plan = {
  readonly plan: string;
  readonly turns: readonly (readonly ToolName[])[];
  /** The first answer stops in the middle of its text and does not go on. */
  readonly hangs?: boolean;
};
export type ToolName = "never" | "keyed" | "safe" | "asks" | "side" | "flow";

export type SceneOptions = {
  readonly outside: Outside;
  readonly random: Random;
  /** Longest wait inside a tool or between two deltas, in milliseconds. */
  readonly paceMs: number;
  /** Declares every effect `safe`, which switches the intent rule off: the control. */
  readonly lies?: boolean;
  /** Called after an effect that no service would undo, before its result; `id` is its name in the ledger. */
  readonly struck?: (id: string) => void;
};

export const AGENT = "worker";

export function scene(options: SceneOptions): Agent {
  return agent({
    name: AGENT,
    model: planModel(options),
    instructions: "Follow the plan.",
    tools: [
      effect(options, "never", "never"),
      effect(options, "keyed", "keyed"),
      effect(options, "safe", "safe"),
      effect(options, "asks", "never"),
      effect(options, "side", "never"),
      flow(options),
    ],
  });
}

const anything = jsonSchema<{ readonly plan: string; readonly n: number }>({ type: "object" });

function effect(options: SceneOptions, name: Exclude<ToolName, "flow">, rerun: Rerun): Tool {
  const { outside } = options;
  return tool({
    name,
    description: `The ${name} tool.`,
    input: anything,
    rerun: options.lies === true ? "safe" : rerun,
    ...(name === "asks" && { permission: "ask" }),
    ...(name === "side" && { parallel: true }),
    async execute(_input, { callId, idempotencyKey, signal }) {
      await pause(options, signal);
      const keyed = rerun === "keyed" ? { key: idempotencyKey } : {};
      outside.write({ what: rerun === "safe" ? "look" : "effect", id: callId, tool: name, ...keyed });
      if (rerun === "keyed") outside.serve(idempotencyKey);
      if (rerun === "never") options.struck?.(callId);
      await linger(options, signal);
      return `${name} done`;
    },
  });
}

function flow(options: SceneOptions): Tool {
  const { outside } = options;
  return flowTool({
    name: "flow",
    description: "Several effects.",
    input: anything,
    permission: "allow",
    async flow(_input, { callId, step, signal }) {
      const id = (name: string): string => `call/${callId}/step/${name}`;
      await step("look", { rerun: "safe" }, () => outside.write({ what: "look", id: id("look"), tool: "flow" }));
      await step("pay", { rerun: options.lies === true ? "safe" : "keyed" }, async ({ idempotencyKey }) => {
        await pause(options, signal);
        outside.write({ what: "effect", id: id("pay"), tool: "flow", key: idempotencyKey });
        outside.serve(idempotencyKey);
      });
      await step("push", { rerun: options.lies === true ? "safe" : "never" }, async () => {
        await pause(options, signal);
        outside.write({ what: "effect", id: id("push"), tool: "flow" });
        options.struck?.(id("push"));
        await linger(options, signal);
      });
      return "flow done";
    },
  });
}

async function pause({ random, paceMs }: SceneOptions, signal: AbortSignal): Promise<void> {
  if (paceMs > 0) await sleep(systemClock, random.int(0, paceMs), signal);
}

/** Between an effect and its result, where a kill leaves a doubt: four times as long. */
async function linger({ random, paceMs }: SceneOptions, signal: AbortSignal): Promise<void> {
  if (paceMs > 0) await sleep(systemClock, random.int(0, 4 * paceMs), signal);
}

/** The same history always gets the same reply; each ask is written into the ledger. */
function planModel(options: SceneOptions): Model {
  return {
    id: "plan/model",
    capabilities: {},
    async *stream(request) {
      const { plan, turn } = position(request.messages);
      options.outside.write({ what: "ask", id: `${request.sessionId}/${plan.plan}/${turn}`, tool: "model" });
      yield* answer(options, request, plan, turn);
    },
  };
}

async function* answer(
  options: SceneOptions,
  request: ModelRequest,
  plan: Plan,
  turn: number,
): AsyncGenerator<readonly ModelEvent[]> {
  const calls = plan.turns[turn] ?? [];
  const words = [`${plan.plan}`, ` turn ${turn}`, calls.length === 0 ? " done" : " calls"];
  yield [
    { type: "start", model: "plan/model" },
    { type: "block-start", index: 0, block: { type: "text" } },
  ];
  for (const delta of words) {
    await pause(options, request.signal);
    yield [{ type: "block-delta", index: 0, delta }];
    if (plan.hangs !== true || turn > 0) continue;
    options.outside.write({ what: "look", id: `${plan.plan}/hangs`, tool: "model" }); // its first words were taken
    await sleep(systemClock, 600_000, request.signal);
  }
  yield [{ type: "block-end", index: 0, part: { type: "text", text: words.join("") } }];
  for (const [n, name] of calls.entries()) {
    const index = n + 1;
    const part = { type: "tool-call", callId: "", name, input: { plan: plan.plan, n }, by: "capstan" } as const;
    yield [
      { type: "block-start", index, block: { type: "tool-input", name } },
      { type: "block-end", index, part },
    ];
  }
  await pause(options, request.signal);
  const reason = calls.length > 0 ? "tool-calls" : "stop";
  yield [{ type: "finish", reason, usage: { inputTokens: 10, outputTokens: 5 } }];
}

/** The newest plan and how many answers it has. */
function position(messages: readonly Message[]): { readonly plan: Plan; readonly turn: number } {
  let plan: Plan = { plan: "none", turns: [] };
  let turn = 0;
  for (const message of messages) {
    const found = message.role === "user" ? planOf(message) : undefined;
    if (found !== undefined) [plan, turn] = [found, 0];
    else if (message.role === "assistant") turn += 1;
  }
  return { plan, turn };
}

export function planOf(message: Message): Plan | undefined {
  const [part] = message.parts;
  return part?.type === "text" && part.text.startsWith('{"plan":') ? (JSON.parse(part.text) as Plan) : undefined; // written by `planText`
}

export function planText(plan: Plan): string {
  return JSON.stringify(plan);
}
