/** What a verdict on a shell command of 4 KB takes: its syntax tree, what it needs, thirty rules. */

import { callFacts, evaluate, parseRule, type Policy } from "@capstan/core";
import { shellTools } from "@capstan/tools/shell";
import { DECISION_CASES, DECISION_RULES } from "./decision-cases.ts";
import type { Numbers } from "./world.ts";

const ROUNDS = 400;
const WARM = 40;
const ROOT = "/work/project";

/** Milliseconds, by shape of command: `<shape>/p50` and `<shape>/p99`. */
export async function decision(): Promise<Numbers> {
  const [shell] = shellTools();
  if (shell === undefined) throw new Error("there is no bash here");
  const { allow, ask, deny } = DECISION_RULES;
  const tier = { tier: "agent", allow: allow.map(parseRule), ask: ask.map(parseRule), deny: deny.map(parseRule) };
  const policy: Policy = { mode: "ask", tiers: [{ ...tier, tier: "agent" }] };
  const decide = (command: string): number => {
    const begun = performance.now();
    evaluate(callFacts(shell, { command }, ROOT), policy);
    return performance.now() - begun;
  };
  const numbers: { [name: string]: number } = {};
  for (const commands of Object.values(DECISION_CASES)) repeat(commands, WARM, decide);
  for (const [shape, commands] of Object.entries(DECISION_CASES)) {
    const times = repeat(commands, ROUNDS, decide).toSorted((one, other) => one - other);
    numbers[`${shape}/p50`] = times[Math.floor(times.length / 2)] ?? Number.NaN;
    numbers[`${shape}/p99`] = times[Math.floor(times.length * 0.99)] ?? Number.NaN;
  }
  return numbers;
}

function repeat(commands: readonly string[], rounds: number, decide: (command: string) => number): readonly number[] {
  return Array.from({ length: rounds }, () => commands.map(decide)).flat();
}
