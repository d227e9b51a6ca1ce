/** The checks of this repository, in one list for `npm run check` and for CI. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { mapBounded, runCommand, seconds } from "./run-command.ts";
import type { CommandResult } from "./run-command.ts";

export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly timeoutMs: number;
}

const MINUTE = 60_000;
const root = join(import.meta.dirname, "..");

/** A development tool of this repository, run by the Node that runs this script. */
function tool(name: string, ...args: readonly string[]): readonly string[] {
  return [join(root, "node_modules", ".bin", name), ...args];
}

function script(name: string, ...args: readonly string[]): readonly string[] {
  return [process.execPath, join(root, "scripts", name), ...args];
}

/** Steps that only read: no tests, no examples. */
export const staticSteps: readonly Step[] = [
  { name: "format", command: tool("oxfmt", "--check"), timeoutMs: 2 * MINUTE },
  { name: "lint", command: tool("oxlint", "--deny-warnings"), timeoutMs: 5 * MINUTE },
  { name: "types", command: tool("tsc", "-p", "tsconfig.json"), timeoutMs: 5 * MINUTE },
  { name: "types of the console", command: tool("tsc", "-p", "packages/console/web"), timeoutMs: 5 * MINUTE },
  { name: "unused code (knip)", command: tool("knip", "--no-config-hints"), timeoutMs: 5 * MINUTE },
  { name: "source rules", command: script("check-source.ts"), timeoutMs: MINUTE },
  ...(existsSync(join(root, "scripts", "check-errors.ts"))
    ? [{ name: "error codes", command: script("check-errors.ts"), timeoutMs: MINUTE }]
    : []),
  { name: "lockfile", command: script("complete-lockfile.mjs", "--check"), timeoutMs: MINUTE },
];

export const testStep: Step = { name: "tests", command: tool("vitest", "run"), timeoutMs: 10 * MINUTE };
export const examplesStep: Step = { name: "examples", command: script("run-examples.ts"), timeoutMs: 10 * MINUTE };
export const buildStep: Step = { name: "build", command: script("build.ts"), timeoutMs: 5 * MINUTE };
export const slowStep: Step = {
  name: "slow tests",
  command: tool("vitest", "run", "--config", "vitest.slow.config.ts"),
  timeoutMs: 20 * MINUTE,
};

/** Runs steps two at a time, prints a line for each and the output of those that fail; returns the failed ones. */
export async function runSteps(steps: readonly Step[]): Promise<readonly Step[]> {
  const results = await mapBounded(steps, 2, async (step) => {
    const result = await runCommand(step.command, { timeoutMs: step.timeoutMs });
    report(step, result);
    return result;
  });
  return steps.filter((_step, index) => results[index]?.ok !== true);
}

function report(step: Step, result: CommandResult): void {
  console.log(`${result.ok ? "ok  " : "FAIL"}  ${step.name}  ${seconds(result.ms)}`);
  if (!result.ok) console.log(`${result.output.trim()}\n`);
}
