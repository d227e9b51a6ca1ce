/** Records a run, plays it again with a changed agent, and scores answers against a threshold: no key, no network. */

import assert from "node:assert/strict";
import { agent, tool } from "capstan";
import {
  contains,
  driftText,
  evaluate,
  evaluation,
  recordRuns,
  replayRun,
  scriptedModel,
  testRuntime,
} from "capstan/testing";
import { z } from "zod";

const weather = tool({
  name: "weather",
  description: "Current weather of a city.",
  input: z.object({ city: z.string() }),
  rerun: "safe",
  execute: ({ city }) => `${city}: rain`,
});
const model = scriptedModel([{ calls: [{ name: "weather", input: { city: "Oslo" } }] }, { text: "Take one: rain." }]);
const guide = (instructions: string) => agent({ name: "guide", model, instructions, tools: [weather] });

// a run as it went, in one object that can be kept as a file
const recorder = recordRuns();
await using runtime = await testRuntime({ agents: [guide("Answer in one line.")], plugins: [recorder.plugin] });
const recording = await recorder.recording(await runtime.send("guide", "Umbrella in Oslo?"));

// the same agent goes the same way; a changed one is told where it differs
const same = await replayRun(recording, { agents: [guide("Answer in one line.")] });
const changed = await replayRun(recording, { agents: [guide("Answer in rhymes.")], live: ["weather"] });
console.log(driftText(changed.drift).split("\n", 1)[0]);
assert.equal(same.ok, true);
assert.deepEqual(changed.drift[0]?.path, "system");

// answers against a dataset, with a threshold that a build stands or falls on
const report = await evaluate(
  evaluation({
    name: "umbrella",
    dataset: [
      { id: "oslo", input: "Umbrella in Oslo?", expected: "rain" },
      { id: "rome", input: "Umbrella in Rome?", expected: ["rain", "take one"] },
    ],
    async task({ input }) {
      const run = await runtime.send("guide", JSON.stringify(input));
      return { output: await run.text() };
    },
    scorers: [contains()],
    thresholds: { contains: 1 },
  }),
);
console.log(`${report.items.length} items, mean ${report.scorers["contains"]?.mean}`);
assert.equal(report.ok, true);
