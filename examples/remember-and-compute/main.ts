/** One conversation keeps a page, the next is told of it, with its labels; and a program adds up what tools say. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, tool } from "capstan";
import { memory, memoryPlugin } from "capstan/memory";
import { taint } from "capstan/plugins";
import { scriptedModel, testRuntime } from "capstan/testing";
import { codeMode } from "capstan/tools/code-mode";
import { z } from "zod";

const web = tool({
  name: "web_fetch",
  description: "Fetches a page.",
  input: z.object({ url: z.string() }),
  rerun: "safe",
  execute: () => "The shop in Oslo opens at 9.",
});
const sales = tool({
  name: "sales",
  description: "Sales of a shop on a day.",
  input: z.object({ shop: z.string(), day: z.int() }),
  rerun: "safe",
  execute: ({ shop, day }) => ({ shop, crowns: shop.length * day }),
});
const mail = tool({
  name: "send_mail",
  description: "Sends a mail.",
  input: z.object({ to: z.string() }),
  execute: () => "Sent.",
});

const folder = await mkdtemp(join(tmpdir(), "capstan-example-"));
const kept = memory({ folder });
const plugins = [
  taint([{ from: ["web_*"], forbid: ["send_mail"], on: "deny" }]),
  memoryPlugin(kept, { results: ["web_fetch"] }),
];

const reader = agent({
  name: "reader",
  model: scriptedModel([{ calls: [{ name: "web_fetch", input: { url: "https://shop.example" } }] }, { text: "Read." }]),
  instructions: "Read pages.",
  tools: [web],
});
const program = `
  const days = await Promise.all([1, 2, 3].map((day) => tools.sales({ shop: "Oslo", day })));
  return days.reduce((sum, { crowns }) => sum + crowns, 0);`;
const clerk = agent({
  name: "clerk",
  model: scriptedModel([
    { calls: [{ name: "run_code", input: { task: program } }] },
    { calls: [{ name: "send_mail", input: { to: "eve" } }] },
    { text: "24 crowns in three days." },
  ]),
  instructions: "Help.",
  tools: [mail, codeMode({ tools: [sales] })],
});

const runtime = await testRuntime({ agents: [reader, clerk], plugins });
await (await runtime.send(reader, "Read about the shop")).text();
const run = await runtime.send(clerk, "When does the Oslo shop open, and what did it sell?");
await run.text();
const results = (await run.session.messages()).flatMap(({ parts }) =>
  parts.flatMap((part) =>
    part.type === "tool-result" ? [`${part.name}: ${JSON.stringify(part.output.content)}`] : [],
  ),
);
const { passages } = await kept.search({ project: "" }, "When does it open?");
await runtime.close();
await kept.close();
await rm(folder, { recursive: true });

console.log([...results, `remembered: ${passages[0]?.text} (${passages[0]?.labels.join()})`].join("\n"));
assert.match(results[0] ?? "", /result\\":24/);
assert.match(results[1] ?? "", /has seen from:web_fetch/); // it was told of the page, so it may not mail
assert.deepEqual(passages[0]?.labels, ["from:web_fetch"]);
