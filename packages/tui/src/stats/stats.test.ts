import type { Fact, SessionSummary } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { dayStats } from "./day-stats.ts";
import { cacheShare, sessionStats } from "./session-stats.ts";

const fact = (body: object, at = 0): Fact => ({ key: "k", seq: 1, at, ...body }) as Fact; // whole enough for the fold

describe("sessionStats", () => {
  it("CLI-03 counts tokens by model, tools, tries, ends and the time of runs", () => {
    const fold = sessionStats();
    const turn = (model: string, inputTokens: number): Fact =>
      fact({
        type: "turn.finished",
        model,
        usage: { inputTokens, outputTokens: 10, cacheReadTokens: 30, costMicroUsd: 5 },
      });
    for (const one of [
      fact({ type: "run.started" }, 1_000),
      fact({ type: "turn.started", attempt: 1 }),
      fact({ type: "turn.started", attempt: 2 }),
      turn("a/x", 10),
      fact({ type: "tool.finished", name: "read", status: "ok", durationMs: 5 }),
      fact({ type: "tool.finished", name: "read", status: "error", durationMs: 7 }),
      fact({ type: "tool.finished", name: "edit", status: "ok", durationMs: 1 }),
      fact({ type: "request.opened" }),
      fact({ type: "context.compacted" }),
      fact({ type: "task.finished", usage: { inputTokens: 3, outputTokens: 4 } }),
      turn("b/y", 20),
      fact({ type: "run.finished", reason: "end-turn" }, 4_000),
      fact({ type: "run.started" }, 5_000),
    ])
      fold.add(one);
    expect(fold.stats()).toEqual({
      usage: { inputTokens: 30, outputTokens: 20, cacheReadTokens: 60, costMicroUsd: 10 },
      childUsage: { inputTokens: 3, outputTokens: 4 },
      runs: 2,
      turns: 2,
      retries: 1,
      workedMs: 3_000,
      ends: [["end-turn", 1]],
      models: [
        ["a/x", { inputTokens: 10, outputTokens: 10, cacheReadTokens: 30, costMicroUsd: 5 }],
        ["b/y", { inputTokens: 20, outputTokens: 10, cacheReadTokens: 30, costMicroUsd: 5 }],
      ],
      tools: [
        { name: "read", calls: 2, failed: 1, ms: 12 },
        { name: "edit", calls: 1, failed: 0, ms: 1 },
      ],
      asked: 1,
      compactions: 1,
      children: 1,
    });
    expect(cacheShare(fold.stats().usage)).toBeCloseTo(60 / 90);
    expect(cacheShare({ inputTokens: 0, outputTokens: 0 })).toBeUndefined();
  });
});

describe("dayStats", () => {
  it("CLI-03 sums sessions up by the local day they were begun on, over days without any", () => {
    const now = new Date(2026, 2, 30, 1, 30).getTime(); // near a change of the clock in many places
    const at = (day: number): number => new Date(2026, 2, day, 23, 59).getTime();
    const session = (createdAt: number): SessionSummary =>
      ({ createdAt, usage: { inputTokens: 5, outputTokens: 1 } }) as SessionSummary; // whole enough
    const days = dayStats([session(at(28)), session(at(28)), session(at(30)), session(at(1))], now, 4);
    expect(days.map(({ day, sessions, usage }) => [day, sessions, usage.inputTokens])).toEqual([
      ["2026-03-27", 0, 0],
      ["2026-03-28", 2, 10],
      ["2026-03-29", 0, 0],
      ["2026-03-30", 1, 5],
    ]);
  });
});
