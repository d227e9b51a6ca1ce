/** One agent gives tasks to another, under one budget, and answers with a value that fits a schema. */

import assert from "node:assert/strict";
import { agent, flowTool, openRuntime } from "capstan";
import { scriptedModel } from "capstan/testing";
import { z } from "zod";

const price = { input: 2, output: 10 }; // US dollars per million tokens; real models bring theirs
const readerModel = scriptedModel([{ text: '{"grade":4}' }], { price, capabilities: { structured: true } });
const leadModel = scriptedModel(
  [
    { calls: [{ name: "reader", input: { task: "Grade chapter one." } }] },
    { calls: [{ name: "grade_all", input: { chapters: ["two", "three"] } }] },
    { text: '{"average":4}' },
  ],
  { price, capabilities: { structured: true } },
);

const reader = agent({
  name: "reader",
  description: "Reads one chapter and grades it.",
  model: readerModel,
  instructions: "Grade from 1 to 5.",
  output: z.object({ grade: z.int().min(1).max(5) }),
});

const gradeAll = flowTool({
  name: "grade_all",
  description: "Grades several chapters at once.",
  input: z.object({ chapters: z.array(z.string()) }),
  async flow({ chapters }, context) {
    const graded = await Promise.all(
      chapters.map((chapter) => context.spawn(chapter, "reader", `Grade chapter ${chapter}.`)),
    );
    return graded.map(({ status, output }) => (status === "completed" ? (output ?? null) : null));
  },
});

const lead = agent({
  name: "lead",
  model: leadModel,
  instructions: "Have every chapter graded.",
  tools: [reader, gradeAll], // the agent is a tool of its name: its model gives the task in words
  limits: { usd: 1 }, // for the whole tree
  output: z.object({ average: z.number() }),
});

await using runtime = await openRuntime({ agents: [lead] });
const run = await runtime.send(lead, "What is the average grade?");

for await (const { event, agent: name, parent } of run.events({ children: true })) {
  if (event.type === "run.started") console.log(parent === undefined ? `${name} begins` : `${name} begins, below lead`);
}
const { average } = await run.output();
const { usage, treeUsage } = await run.result();
console.log({ average, own: usage.outputTokens, tree: treeUsage.outputTokens });

assert.equal(average, 4);
assert.equal((await runtime.sessions({ parent: run.session.id })).length, 3);
assert.ok(treeUsage.outputTokens > usage.outputTokens);
