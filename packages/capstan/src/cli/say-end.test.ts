import { NO_USAGE, type RunResult, type StopReason } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { exitOfReason } from "./failure.ts";
import { sayEnd } from "./say-end.ts";
import type { Screen } from "./screen.ts";

function said(result: Partial<RunResult<unknown>>): readonly string[] {
  const lines: string[] = [];
  const screen = { asks: false, note: (line: string) => lines.push(line) } as unknown as Screen; // all that sayEnd uses
  const whole: RunResult<unknown> = {
    status: "finished",
    text: "",
    requests: [],
    messages: [],
    usage: NO_USAGE,
    treeUsage: NO_USAGE,
    turns: 1,
    hooks: [],
    ...result,
  };
  const end = { sessionId: "ses_1", runId: "run_1", result: whole, requests: [], refusals: [], exitCode: 0 };
  sayEnd("capstan", end, "text", screen);
  return lines;
}

const ENDS: readonly (readonly [StopReason, number, string, string])[] = [
  ["max-turns", 4, "--max-turns", "limit-reached"],
  ["max-tokens", 4, "--session ses_1", "limit-reached"],
  ["budget", 4, "--max-usd", "limit-reached"],
  ["deadline", 4, "limits.wallMs", "limit-reached"],
  ["context-exceeded", 4, "new session", "model-context-exceeded"],
  ["refusal", 1, "another --model", "model-refused"],
  ["content-filter", 1, "another --model", "model-refused"],
  ["interrupted", 130, "--session ses_1", "interrupted"],
];

describe("sayEnd", () => {
  for (const [reason, exit, advice, code] of ENDS) {
    it(`LOOP-19 says in one line what to do after ${reason}, and ends with ${exit}`, () => {
      expect(said({ reason })).toEqual([expect.stringMatching(new RegExp(`^capstan: .*\\(${code}\\)$`))]);
      expect(said({ reason })[0]).toContain(advice);
      expect(exitOfReason(reason)).toBe(exit);
    });
  }

  it("says nothing after an answer, and one line when the last word was not the model's", () => {
    const answer = { id: "2", role: "assistant", parts: [{ type: "text", text: "Yes." }] } as const;
    const question = { id: "1", role: "user", parts: [{ type: "text", text: "Is it?" }] } as const;
    expect(said({ reason: "end-turn", messages: [question, answer] })).toEqual([]);
    const silent = [expect.stringContaining("ended without an answer")];
    expect(said({ reason: "end-turn", messages: [question] })).toEqual(silent);
    expect(said({ reason: "end-turn", messages: [question, { ...answer, parts: [] }] })).toEqual(silent);
  });
});
