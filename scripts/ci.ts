/** What CI runs after `npm ci`: tests, checks, examples, slow tests; its last line is `N passed, N failed`. */

import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runCommand, seconds } from "./run-command.ts";
import type { CommandResult } from "./run-command.ts";
import { buildStep, examplesStep, runSteps, slowStep, staticSteps, testStep } from "./steps.ts";
import type { Step } from "./steps.ts";

interface Count {
  readonly passed: number;
  readonly failed: number;
}

/** The part of Vitest's JSON report that is read here. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly success: boolean;
  readonly testResults: readonly TestFile[];
}

interface TestFile {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

const root = join(import.meta.dirname, "..");
const out = join(root, ".ci", "out");
const counts: Count[] = [];
const failures: string[] = [];

/** A failed check counts as one failure; a passed one is not counted, so that `passed` means tests and examples. */
function countChecks(failed: readonly Step[]): void {
  for (const { name } of failed) failures.push(`check: ${name}`);
  counts.push({ passed: 0, failed: failed.length });
}

async function runTests(step: Step, command: readonly string[]): Promise<void> {
  const file = join(out, `${step.name.replaceAll(" ", "-")}.json`);
  const result = await runCommand([...command, "--reporter=default", "--reporter=json", `--outputFile.json=${file}`], {
    timeoutMs: step.timeoutMs,
  });
  console.log(result.output.trimEnd());
  console.log(`${result.ok ? "ok  " : "FAIL"}  ${step.name}  ${seconds(result.ms)}`);
  counts.push(countTests(step, result, readReport(file)));
}

function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  } catch {
    return undefined;
  }
}

function countTests(step: Step, result: CommandResult, report: Report | undefined): Count {
  if (report === undefined) {
    if (result.ok) return { passed: 0, failed: 0 };
    failures.push(`${step.name}: ended without a report`);
    return { passed: 0, failed: 1 };
  }
  let failed = report.numFailedTests;
  for (const file of report.testResults) {
    const broken = file.assertionResults.filter(({ status }) => status === "failed");
    for (const { fullName } of broken) failures.push(`${file.name.replace(`${root}/`, "")}: ${fullName}`);
    if (file.status === "failed" && broken.length === 0) {
      failures.push(`${file.name.replace(`${root}/`, "")}: ${file.message?.split("\n")[0] ?? "the file failed"}`);
      failed += 1;
    }
  }
  if (!result.ok && failed === 0) {
    failures.push(`${step.name}: an error outside the tests, see above`);
    failed = 1;
  }
  return { passed: report.numPassedTests, failed };
}

async function runExamples(): Promise<void> {
  const result = await runCommand(examplesStep.command, { timeoutMs: examplesStep.timeoutMs });
  console.log(result.output.trimEnd());
  for (const [, name] of result.output.matchAll(/^FAIL {2}(\S+)/gm)) failures.push(`example: ${name}`);
  const line = /examples: (\d+) passed, (\d+) failed\s*$/.exec(result.output);
  if (line !== null) {
    counts.push({ passed: Number(line[1]), failed: Number(line[2]) });
  } else {
    failures.push("examples: ended without a count");
    counts.push({ passed: 0, failed: 1 });
  }
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
console.log(`Node ${process.version}`);
await runTests(testStep, ["npm", "test", "--"]);
countChecks(await runSteps([...staticSteps, buildStep]));
await runExamples();
await runTests(slowStep, slowStep.command);

if (failures.length > 0) console.log(`\nfailed:\n${failures.map((failure) => `  ${failure}`).join("\n")}`);
const total = (key: keyof Count): number => counts.reduce((sum, count) => sum + count[key], 0);
process.exitCode = total("failed") > 0 ? 1 : 0;
console.log(`\n${total("passed")} passed, ${total("failed")} failed`);
