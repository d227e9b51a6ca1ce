import assert from "node:assert/strict";
import { callFacts, type CallFacts, evaluate, parseRule, type Policy } from "@capstan/core";
import { describe, it } from "vitest";
import { shellTools } from "@capstan/tools/shell";
import { DECISION_CASES, DECISION_RULES } from "../bench/decision-cases.ts";

const ROOT = "/work/project";
const { allow, ask, deny } = DECISION_RULES;
const policy: Policy = {
  mode: "ask",
  tiers: [{ tier: "agent", allow: allow.map(parseRule), ask: ask.map(parseRule), deny: deny.map(parseRule) }],
};
const [shell] = shellTools();

function facts(command: string): CallFacts {
  assert.ok(shell);
  return callFacts(shell, { command }, ROOT);
}

/** How often the decision reads something of the needs. */
function reads(command: string): number {
  let count = 0;
  const counted = <T extends object>(of: T): T =>
    new Proxy(of, {
      get(target, name, receiver) {
        count++;
        const value: unknown = Reflect.get(target, name, receiver);
        return typeof value === "object" && value !== null ? counted(value) : value;
      },
    });
  const call = facts(command);
  evaluate({ ...call, needs: call.needs.map((need) => counted(need)) }, policy);
  return count;
}

describe("the decision on a command of 4 KB", () => {
  it("PERM-19 reads twice as much of a command that is twice as long, and no more things than it may hold", () => {
    for (const commands of Object.values(DECISION_CASES))
      for (const command of commands) assert.ok(facts(command).needs.length <= 66, command.slice(0, 80));
    const long = (count: number): string =>
      `grep -r KEY ${Array.from({ length: count }, (_, at) => `a/${at}`).join(" ")}`;
    const short = (count: number): string => Array.from({ length: count }, (_, at) => `ls x${at}`).join("; ");
    assert.ok(reads(long(400)) <= 2.2 * reads(long(200)));
    assert.ok(reads(short(60)) <= 2.2 * reads(short(30)));
  });
});
