/** The smallest program: an agent with one tool, one input, one answer. The model is scripted so that it runs anywhere. */

import assert from "node:assert/strict";
import { agent, openRuntime, tool } from "capstan";
import { scriptedModel } from "capstan/testing";
import { z } from "zod";

const weather = tool({
  name: "weather",
  description: "Current weather of a city.",
  input: z.object({ city: z.string() }),
  rerun: "safe",
  execute: ({ city }) => `Rain in ${city}, 7 degrees.`,
});

const guide = agent({
  name: "guide",
  // with a key in ANTHROPIC_API_KEY: model: "anthropic/claude-sonnet-5-5"
  model: scriptedModel([
    { text: "I look.", calls: [{ name: "weather", input: { city: "Oslo" } }] },
    { text: "Take one: it rains in Oslo." },
  ]),
  instructions: "Answer in one line.",
  tools: [weather],
});

await using runtime = await openRuntime({ agents: [guide] }); // SQLite in the data folder, durable without further set-up
const run = await runtime.send(guide, "Umbrella in Oslo?"); // resolves when the input is on disk
const answer = await run.text();

console.log(answer);
assert.equal(answer, "Take one: it rains in Oslo.");
