import type { PlanEntry, QueuedInput, SessionView } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { allCommands, COMMANDS, helpText, typed } from "./commands.ts";
import { inert, inertLine, pastable } from "./inert.ts";
import { planLines, queueLines, type Status, statusLine } from "./status-lines.ts";
import { themeContext } from "./theme-context.ts";
import { widthOf } from "./view/text-width.ts";

const context = themeContext({ depth: 1, isUnicode: true });

describe("planLines", () => {
  const entry = (content: string, status: PlanEntry["status"]): PlanEntry => ({ content, status, priority: "medium" });

  it("CLI-01 shows the plan around what is worked on, and nothing when all is done", () => {
    const plan = [
      entry("Look", "completed"),
      entry("Leap \u001b[2J", "in-progress"),
      entry("Land", "pending"),
      entry("Sleep", "cancelled"),
    ];
    expect(planLines(plan, context, 40)).toEqual([
      "Plan: 2 of 4 done",
      "  ✓ Look",
      "\u001b[1m  ❯ Leap \\u{1b}[2J\u001b[22m",
      "  ○ Land",
      "  ✗ Sleep",
    ]);
    expect(planLines([entry("Look", "completed")], context, 40)).toEqual([]);
    const long = Array.from({ length: 30 }, (_, at) =>
      entry(`Step ${at}`, at < 20 ? "completed" : at === 20 ? "in-progress" : "pending"),
    );
    expect(planLines(long, context, 40)).toHaveLength(9);
    expect(planLines(long, context, 40).join("\n")).toContain("Step 20");
  });
});

describe("queueLines", () => {
  it("CLI-01 says what waits, and for what", () => {
    const input = (text: string, ifBusy: "steer" | "queue"): QueuedInput => ({
      inputId: text,
      runId: "r",
      parts: [{ type: "text", text }],
      ifBusy,
      actor: { id: "a", door: "d" },
    });
    expect(queueLines([input("now", "steer"), input("later\n\u0007", "queue")], context, 60)).toEqual([
      "  … next turn: now",
      "  … next run: later \\u{7}",
      "  alt+up takes the last one back",
    ]);
  });
});

describe("statusLine", () => {
  const status: Status = {
    state: { usage: { inputTokens: 1, outputTokens: 1, costMicroUsd: 1_234_567 }, status: "running" } as SessionView, // whole enough
    mode: "ask",
    model: "anthropic/claude",
    context: { tokens: 50_000, size: 200_000 },
    runMs: 61_500,
    tick: 0,
    requests: 0,
    flash: undefined,
  };

  it("CLI-01 shows what runs, the model, the mode, how full the context is, and the cost", () => {
    expect(statusLine(status, context, 100)).toMatch(
      /^⠋ 1 min 1 s, esc interrupts +anthropic\/claude · ask · context 25% of 200k · \$1\.23$/,
    );
    expect(statusLine({ ...status, requests: 1 }, context, 100)).toContain("waits for an answer");
    expect(statusLine({ ...status, flash: "ctrl+c again leaves" }, context, 100)).toBe("ctrl+c again leaves");
    for (const width of [1, 5, 10, 30, 50])
      expect(widthOf(statusLine(status, context, width))).toBeLessThanOrEqual(width);
  });
});

describe("typed", () => {
  const others = [
    { name: "review", description: "" },
    { name: "team:deploy", description: "" },
  ];

  it.each([
    ["/help", { type: "own", name: "help", argument: "" }],
    ["/model a/b ", { type: "own", name: "model", argument: "a/b" }],
    ["/review src", { type: "send", text: "/review src" }],
    ["/deploy now", { type: "send", text: "/deploy now" }],
    ["/nonsense", { type: "unknown", name: "nonsense" }],
    ["/constructor", { type: "unknown", name: "constructor" }],
    [" /nonsense", { type: "send", text: " /nonsense" }],
    ["/etc/hosts is what?", { type: "send", text: "/etc/hosts is what?" }],
    ["hello", { type: "send", text: "hello" }],
  ])("CLI-01 takes %j for what it is", (text, expected) => {
    expect(typed(text, others)).toEqual(expected);
  });

  it("CLI-01 lists every command once, and in the help", () => {
    const names = allCommands([...others, { name: "help", description: "of a plugin" }]).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of [...Object.keys(COMMANDS), "review"]) expect(helpText(others)).toContain(`/${name}`);
  });
});

describe("inert", () => {
  it("G20 shows what is active, and keeps what is a picture", () => {
    expect(inert("a\u001b[31m\r\nb\tc\u202e\u200d")).toBe("a\\u{1b}[31m\nb    c\\u{202e}\\u{200d}");
    expect(inert("👩‍👩‍👧 👍🏽‍♂️")).toBe("👩‍👩‍👧 👍🏽‍♂️");
    expect(inert("\ud800")).toBe("\ufffd");
    expect(inertLine("  a\n b  c\n", 4)).toBe("a b ...");
    expect(pastable("a\u009bb\u202ec")).toBe("abc");
  });
});
