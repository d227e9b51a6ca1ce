import assert from "node:assert/strict";
import { callFacts, type CallFacts, evaluate, parseRule, type Policy } from "@capstan/core";
import { describe, it, vi } from "vitest";
import { shellTools } from "../shell.ts";
import { DECISION_CASES, DECISION_RULES } from "./decision-cases.ts";

vi.setConfig({ testTimeout: 120_000 });

const ROUNDS = 20;
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

/** Milliseconds of each decision on the commands, one after the other, again and again. */
function times(commands: readonly string[], rounds: number): readonly number[] {
  const found: number[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const command of commands) {
      const begun = process.hrtime.bigint();
      evaluate(facts(command), policy);
      found.push(Number(process.hrtime.bigint() - begun) / 1e6);
    }
  }
  return found.toSorted((one, other) => one - other);
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
  it("PERM-19 prints what it takes", () => {
    for (const commands of Object.values(DECISION_CASES)) times(commands, 5);
    const rows = Object.entries(DECISION_CASES).map(([shape, commands]) => {
      const found = times(commands, ROUNDS);
      const at = (part: number): string => (found[Math.floor((found.length - 1) * part)] ?? 0).toFixed(3);
      return `${shape.padEnd(28)} least ${at(0)} ms, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
    });
    process.stdout.write(`${rows.join("\n")}\n`);
  });

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
