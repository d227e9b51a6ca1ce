/** Statistics of one session: a pure fold of its facts. */

import { addUsage, type Fact, type FactOf, NO_USAGE, type Usage } from "@capstan/core";

export type ToolStats = { readonly name: string; readonly calls: number; readonly failed: number; readonly ms: number };
export type SessionStats = {
  readonly usage: Usage;
  /** Of sub-agents. */
  readonly childUsage: Usage;
  readonly runs: number;
  readonly turns: number;
  readonly retries: number;
  readonly workedMs: number;
  readonly ends: readonly (readonly [reason: string, count: number])[];
  readonly models: readonly (readonly [model: string, usage: Usage])[];
  /** The most used first. */
  readonly tools: readonly ToolStats[];
  readonly asked: number;
  readonly compactions: number;
  readonly children: number;
};

export interface StatsFold {
  add(fact: Fact): void;
  stats(): SessionStats;
}

export function sessionStats(): StatsFold {
  let [usage, childUsage] = [NO_USAGE, NO_USAGE];
  let [turns, retries, workedMs, asked, compactions, children] = [0, 0, 0, 0, 0, 0];
  let startedAt: number | undefined;
  const ends = new Map<string, number>();
  const models = new Map<string, Usage>();
  const tools = new Map<string, ToolStats>();
  return {
    add(fact) {
      switch (fact.type) {
        case "run.started":
          startedAt = fact.at;
          return;
        case "turn.started":
          if (fact.attempt > 1) retries += 1;
          return;
        case "turn.finished":
          turns += 1;
          usage = addUsage(usage, fact.usage);
          models.set(fact.model, addUsage(models.get(fact.model) ?? NO_USAGE, fact.usage));
          return;
        case "tool.finished":
          return addTool(tools, fact);
        case "task.finished":
          children += 1;
          childUsage = addUsage(childUsage, fact.usage ?? NO_USAGE);
          return;
        case "request.opened":
          asked += 1;
          return;
        case "context.compacted":
          compactions += 1;
          return;
        case "run.finished":
          ends.set(fact.reason, (ends.get(fact.reason) ?? 0) + 1);
          if (startedAt !== undefined) workedMs += Math.max(0, fact.at - startedAt);
          startedAt = undefined;
          return;
        default:
          return;
      }
    },
    stats: () => ({
      usage,
      childUsage,
      runs: [...ends.values()].reduce((sum, count) => sum + count, startedAt === undefined ? 0 : 1),
      turns,
      retries,
      workedMs,
      ends: [...ends],
      models: [...models],
      tools: [...tools.values()].toSorted((a, b) => b.calls - a.calls),
      asked,
      compactions,
      children,
    }),
  };
}

function addTool(tools: Map<string, ToolStats>, fact: FactOf<"tool.finished">): void {
  const { name, calls, failed, ms } = tools.get(fact.name) ?? { name: fact.name, calls: 0, failed: 0, ms: 0 };
  const isFailed = fact.status !== "ok";
  tools.set(fact.name, { name, calls: calls + 1, failed: failed + (isFailed ? 1 : 0), ms: ms + fact.durationMs });
}

/** Share of the input that came out of a cache, 0 to 1; undefined before there was any. */
export function cacheShare({ inputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 }: Usage): number | undefined {
  const all = inputTokens + cacheReadTokens + cacheWriteTokens;
  return all === 0 ? undefined : cacheReadTokens / all;
}
