/** Start to first delta of Capstan as a program uses it: default runtime, its data folder given. Runs the built packages. */

import { agent, openRuntime } from "capstan";
import { anthropic } from "capstan/models/anthropic";

const [url, dataFolder] = process.argv.slice(2);
const model = anthropic(undefined, { baseUrl: `${url}/text/4/4096` });
const reader = agent({ name: "reader", model, instructions: "You are a careful assistant." });
const runtime = await openRuntime({ agents: [reader], dataFolder });
const run = await runtime.send("reader", "Hello");
let seen = false;
for await (const { text } of run.deltas()) {
  if (!seen) process.stdout.write(text);
  seen = true;
}
await runtime.close();
