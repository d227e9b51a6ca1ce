/** `npm run check`: every check a change must pass; `--full` adds the slow tests and the build. */

import { buildStep, examplesStep, runSteps, slowStep, staticSteps, testStep } from "./steps.ts";

const full = process.argv.includes("--full");
const steps = [testStep, ...staticSteps, examplesStep, ...(full ? [buildStep, slowStep] : [])];
const failed = await runSteps(steps);
if (failed.length > 0) {
  console.log(`\n${failed.length} of ${steps.length} steps failed: ${failed.map(({ name }) => name).join(", ")}`);
  process.exitCode = 1;
} else {
  console.log(`\nall ${steps.length} steps passed`);
}
