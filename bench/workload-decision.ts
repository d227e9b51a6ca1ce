/** What a verdict on a shell command takes that was not seen before: its syntax tree, what it needs, thirty rules. */

import { callFacts, evaluate, parseRule, type Policy } from "@capstan/core";
import { shellTools } from "@capstan/tools/shell";
import { DECISION_CASES, DECISION_RULES, LONG_CASES } from "./decision-cases.ts";
import type { Numbers } from "./world.ts";

const ROUNDS = 200;
const WARM = 40;
/** Decisions on one command in one round. */
const TRIES = 3;
const ROOT = "/work/project";

/**
 * Milliseconds. By shape of command: `<shape>/p50` and `<shape>/p99` over commands of the fastest of three decisions, which
 * leaves out what the machine did meanwhile, and `<shape>/all` the p99 of all decisions, with it and with the collection of
 * garbage. `first`: the first decision of the process.
 */
export async function decision(): Promise<Numbers> {
  const [shell] = shellTools();
  if (shell === undefined) throw new Error("there is no bash here");
  const { allow, ask, deny } = DECISION_RULES;
  const rules = { allow: allow.map(parseRule), ask: ask.map(parseRule), deny: deny.map(parseRule) };
  const policy: Policy = { mode: "ask", tiers: [{ tier: "agent", ...rules }] };
  let decided = 0;
  const decide = (command: string): number => {
    const text = differently(command, decided++);
    const begun = performance.now();
    evaluate(callFacts(shell, { command: text }, ROOT), policy);
    return performance.now() - begun;
  };
  const cases = { ...DECISION_CASES, ...LONG_CASES };
  const numbers: { [name: string]: number } = { first: decide("git status --short && npm test") };
  for (const commands of Object.values(cases)) repeat(commands, WARM, decide);
  for (const [shape, commands] of Object.entries(cases)) {
    const times = repeat(commands, ROUNDS, decide);
    const fastest = times.map((tries) => Math.min(...tries));
    numbers[`${shape}/p50`] = quantile(fastest, 0.5);
    numbers[`${shape}/p99`] = quantile(fastest, 0.99);
    numbers[`${shape}/all`] = quantile(times.flat(), 0.99);
  }
  return numbers;
}

/** The same command in a text of its own: blanks and newlines before it say a number. */
function differently(command: string, count: number): string {
  return count.toString(2).replaceAll("0", " ").replaceAll("1", "\n") + command;
}

function quantile(times: readonly number[], share: number): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length * share)] ?? Number.NaN;
}

/** The tries of each command in each round; other commands come between those of one. */
function repeat(
  commands: readonly string[],
  rounds: number,
  decide: (command: string) => number,
): readonly (readonly number[])[] {
  return Array.from({ length: rounds }, () => {
    const tries = Array.from({ length: TRIES }, () => commands.map(decide));
    return commands.map((_, at) => tries.map((times) => times[at] ?? Number.NaN));
  }).flat();
}
