/** A person decides: the run waits for answers, and goes on when they are given. Here the program says yes and no itself. */

import assert from "node:assert/strict";
import { agent, openRuntime, tool } from "capstan";
import { scriptedModel } from "capstan/testing";
import { z } from "zod";

const paid: string[] = [];
const refund = tool({
  name: "refund",
  description: "Refunds an order.",
  input: z.object({ orderId: z.string(), cents: z.int().positive() }),
  title: ({ orderId, cents }) => `Refund ${(cents / 100).toFixed(2)} for ${orderId}`,
  permission: ({ cents }) => (cents > 5_000 ? "ask" : "allow"),
  execute: ({ orderId }) => void paid.push(orderId),
});
const orders = [
  { orderId: "small", cents: 500 },
  { orderId: "fair", cents: 9_000 },
  { orderId: "absurd", cents: 900_000 },
];
const clerk = agent({
  name: "clerk",
  model: scriptedModel([{ calls: orders.map((input) => ({ name: "refund", input })) }, { text: "All decided." }]),
  instructions: "Refund what is due.",
  tools: [refund],
});

await using runtime = await openRuntime({ agents: [clerk] });
const run = await runtime.send(clerk, "Refund all three.");
let result = await run.result();
for (; result.status === "waiting"; result = await run.result()) {
  for (const { requestId, body } of result.requests) {
    const title = "title" in body ? body.title : body.type;
    const allow = !title.includes("absurd");
    console.log(`${title}? ${allow ? "yes" : "no"}`);
    await run.session.respond(requestId, { type: "permission", allow });
  }
}

assert.equal(result.text, "All decided.");
assert.deepEqual(paid.toSorted(), ["fair", "small"]);
