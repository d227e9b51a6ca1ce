/** Events of a run: text as it comes, tools as they run, and the same facts again for whoever comes later. */

import assert from "node:assert/strict";
import { agent, isLive, openRuntime, tool } from "capstan";
import { scriptedModel } from "capstan/testing";
import { z } from "zod";

const count = tool({
  name: "count",
  description: "Counts the letters of a word.",
  input: z.object({ word: z.string() }),
  rerun: "safe",
  execute: ({ word }) => word.length,
});
const speller = agent({
  name: "speller",
  model: scriptedModel([
    {
      calls: [
        { name: "count", input: { word: "capstan" } },
        { name: "count", input: { word: "rope" } },
      ],
    },
    { text: "Seven letters, and four." },
  ]),
  instructions: "Count.",
  tools: [count],
});

await using runtime = await openRuntime({ agents: [speller] });
const run = await runtime.send(speller, "How long are capstan and rope?");

let said = "";
for await (const { event } of run.events()) {
  if (event.type === "text.delta") process.stdout.write(event.delta);
  if (event.type === "text.delta") said += event.delta;
  if (event.type === "tool.finished") console.log(`${event.name}: ${event.status}`);
}
console.log();
assert.equal(said, "Seven letters, and four.");

const facts: string[] = [];
for await (const { event } of run.events()) if (!isLive(event)) facts.push(event.type); // from the log this time
assert.equal(facts.filter((type) => type === "tool.finished").length, 2);
assert.equal(facts.at(-1), "run.finished");
