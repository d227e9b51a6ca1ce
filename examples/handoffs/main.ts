/** One agent hands the conversation over to another, which keeps it in later runs until it hands it back. */

import assert from "node:assert/strict";
import { agent, openRuntime, tool } from "capstan";
import { scriptedModel } from "capstan/testing";
import { z } from "zod";

const triageModel = scriptedModel([
  { calls: [{ name: "transfer_to_billing", input: { reason: "a refund" } }] },
  {},
  {},
  {},
  { text: "What else can I do for you?" },
]);
const billingModel = scriptedModel([
  {},
  { calls: [{ name: "refund", input: { order: "A7" } }] },
  { text: "Order A7 is refunded." },
  { calls: [{ name: "transfer_to_triage", input: {} }] },
]);
const refund = tool({
  name: "refund",
  description: "Refunds an order.",
  input: z.object({ order: z.string() }),
  rerun: "keyed",
  execute: ({ order }) => `Refunded ${order}.`,
});

const billing = agent({
  name: "billing",
  description: "Knows invoices and refunds.",
  model: billingModel,
  instructions: "Settle what is about money. Hand everything else back.",
  tools: [refund],
  handoffs: ["triage"], // by name: it is defined below
});
const triage = agent({
  name: "triage",
  model: triageModel,
  instructions: "Find out what it is about.",
  handoffs: [billing],
  permission: { ask: ["transfer_to_billing"] },
});

await using runtime = await openRuntime({
  agents: [triage],
  onRequest: async ({ body }) => (body.type === "permission" ? { type: "permission", allow: true } : undefined),
});
const session = await runtime.session({ agent: triage });
console.log(await (await session.send("I want my money back for order A7.")).text());
assert.equal((await session.state()).agent, "billing");

console.log(await (await session.send("Thanks. And the weather?")).text());
assert.equal((await session.state()).agent, "triage");
