/** As capstan.mjs, without a store on disk: core, the memory engine and the adapter. Runs the built packages. */

import { agent, memoryStore, openRuntime, storeEngine, systemClock, systemIds } from "@capstan/core";
import { anthropic } from "@capstan/models/anthropic";

const [url] = process.argv.slice(2);
const model = anthropic(undefined, { baseUrl: `${url}/text/4/4096` });
const reader = agent({ name: "reader", model, instructions: "You are a careful assistant." });
const engine = storeEngine(memoryStore(), { clock: systemClock, ids: systemIds(() => systemClock.now()) });
const runtime = await openRuntime({ agents: [reader], engine });
const run = await runtime.send("reader", "Hello");
let seen = false;
for await (const { text } of run.deltas()) {
  if (!seen) process.stdout.write(text);
  seen = true;
}
await runtime.close();
