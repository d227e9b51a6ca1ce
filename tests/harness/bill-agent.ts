/** The agent whose input bill is measured, and one sitting with it: the same in this process and in another. */

import {
  agent,
  isLive,
  jsonSchema,
  type Model,
  openRuntime,
  type Run,
  storeEngine,
  systemClock,
  systemIds,
  type Tool,
  tool,
} from "@capstan/core";
import { sqliteStore } from "@capstan/engines/sqlite";
import { anthropicFrom } from "@capstan/models/anthropic";
import { chatPresetFrom } from "@capstan/models/openai-chat";

export type BilledProvider = "Anthropic" | "OpenRouter's dialect";
export type Sitting = {
  /** Of the database that all sittings share. */
  readonly path: string;
  readonly provider: BilledProvider;
  /** Where the provider's double listens. */
  readonly url: string;
  readonly sessions: number;
  /** Inputs to each session. */
  readonly inputs: number;
  readonly tools: readonly (keyof typeof TOOLS)[];
};

const SYSTEM = "You are a careful assistant that reads files before it speaks. ".repeat(100);
/** One red pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const anything = jsonSchema<{ readonly at: number }>({ type: "object", properties: { at: { type: "number" } } });

const TOOLS = {
  look: tool({
    name: "look",
    description: "Reads a part of a file. ".repeat(20),
    input: anything,
    rerun: "safe",
    execute: ({ at }) => ({
      content: [
        { type: "text", text: `line ${at} `.repeat(40) },
        ...(at % 5 === 4
          ? [{ type: "file", mediaType: "image/png", data: { type: "base64", base64: PNG } } as const]
          : []),
      ],
    }),
  }),
  late: tool({ name: "late", description: "Came later.", input: anything, execute: () => "late" }),
} satisfies Record<string, Tool>;

/** Every session gets its inputs, one after the other. What people were told meanwhile. */
export async function sit(sitting: Sitting): Promise<readonly string[]> {
  const { path, sessions, inputs } = sitting;
  const store = await sqliteStore({ path, durability: "relaxed" });
  const engine = storeEngine(store, { clock: systemClock, ids: systemIds(() => systemClock.now()) });
  const tools = sitting.tools.map((name) => TOOLS[name]);
  const reader = agent({ name: "reader", model: modelAt(sitting), instructions: SYSTEM, tools });
  await using runtime = await openRuntime({ agents: [reader], engine });
  const notices: string[] = [];
  for (let index = 0; index < sessions; index++) {
    const session = await runtime.session({ agent: "reader", key: `session ${index}` });
    for (let input = 0; input < inputs; input++)
      notices.push(...(await noticesOf(await session.send(`Hello, I am number ${index}, input ${input}.`))));
  }
  return notices;
}

function modelAt({ provider, url }: Sitting): Model {
  if (provider === "Anthropic")
    return anthropicFrom({ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url }, "claude-opus-4-6");
  return chatPresetFrom("openrouter", {}, "anthropic/claude-x", { apiKey: "or-key-1", baseUrl: `${url}/v1` });
}

/** Throws when the run did not end well. */
async function noticesOf(run: Run<unknown>): Promise<readonly string[]> {
  const notices: string[] = [];
  for await (const { event } of run.events())
    if (isLive(event) && event.type === "notice") notices.push(`${event.code}: ${event.title}`);
  const { reason, error } = await run.result();
  if (reason !== "end-turn") throw new Error(`the run ended with ${reason}: ${error?.message}`);
  return notices;
}
