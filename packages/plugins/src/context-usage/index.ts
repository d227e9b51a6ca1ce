/** What fills a model's context: tokens by category, of any request or conversation. */

import {
  type Message,
  type ModelRequest,
  type Part,
  partSize,
  type Plugin,
  plugin,
  sizeOf,
  textSize,
} from "@capstan/core";

/** Tokens. They add up to `total`. */
export type ContextUsage = {
  readonly system: number;
  readonly tools: number;
  /** What people, hooks and the model said, with what frames it. */
  readonly messages: number;
  readonly reasoning: number;
  readonly toolCalls: number;
  readonly toolResults: number;
  readonly files: number;
  /** Summaries of what was compacted. */
  readonly summaries: number;
  readonly total: number;
  /** Of the model's context, where it is known. */
  readonly free?: number;
};
type Category = Exclude<keyof ContextUsage, "total" | "free">;
/** Tokens that a provider counted (`contextTokens` of a session's state, of `usage.updated`), and its context's size. */
export type Counted = { readonly total?: number; readonly contextTokens?: number };

/** Pure. Estimated by characters, and scaled to what the provider counted where that is given. */
export function contextUsage(
  { system, tools, messages }: Pick<ModelRequest, "system" | "tools" | "messages">,
  { total, contextTokens }: Counted = {},
): ContextUsage {
  const sum: { [Of in Category]: number } = {
    system: textSize(system),
    tools: tools.length === 0 ? 0 : textSize(JSON.stringify(tools)),
    messages: 0,
    reasoning: 0,
    toolCalls: 0,
    toolResults: 0,
    files: 0,
    summaries: 0,
  };
  for (const message of messages) {
    const whole = sizeOf(message);
    const parts = message.parts.reduce((size, part) => size + partSize(part), 0);
    sum[isSummary(message) ? "summaries" : "messages"] += whole - parts;
    for (const part of message.parts) sum[isSummary(message) ? "summaries" : categoryOf(part)] += partSize(part);
  }
  const counted = scaled(sum, total);
  const used = Object.values(counted).reduce((all, size) => all + size, 0);
  return { ...counted, total: used, ...(contextTokens !== undefined && { free: Math.max(0, contextTokens - used) }) };
}

export type SeenContext = { readonly sessionId: string; readonly runId: string; readonly model: string };

/** Calls `show` with what each request holds, before it is sent. What it throws is a notice. */
export function watchContext(show: (usage: ContextUsage, seen: SeenContext) => void): Plugin {
  return plugin({
    name: "context-usage",
    onFailure: "ignore",
    async prepare(request, context) {
      const { sessionId, runId } = context;
      const { id, capabilities } = await context.model();
      const { contextTokens } = capabilities;
      const usage = contextUsage(request, contextTokens === undefined ? {} : { contextTokens });
      show(usage, { sessionId, runId, model: id });
    },
  });
}

function isSummary({ id }: Message): boolean {
  return id.startsWith("compaction/");
}

function categoryOf(part: Part): Category {
  switch (part.type) {
    case "text":
    case "source":
    case "opaque":
      return "messages";
    case "reasoning":
      return "reasoning";
    case "tool-call":
      return "toolCalls";
    case "tool-result":
      return "toolResults";
    case "file":
      return "files";
    default:
      return part satisfies never;
  }
}

/** Whole numbers that add up to `total`: what rounding leaves goes to the largest. */
function scaled(sizes: { readonly [Of in Category]: number }, total: number | undefined): { [Of in Category]: number } {
  const all = Object.values(sizes).reduce((sum, size) => sum + size, 0);
  if (total === undefined || all === 0) return { ...sizes };
  const made = Object.fromEntries(
    Object.entries(sizes).map(([name, size]) => [name, Math.floor((size * total) / all)]),
  ) as { [Of in Category]: number }; // the same names
  const names = Object.keys(made) as Category[];
  const largest = names.reduce((most, name) => (made[name] > made[most] ? name : most));
  made[largest] += total - Object.values(made).reduce((sum, size) => sum + size, 0);
  return made;
}
