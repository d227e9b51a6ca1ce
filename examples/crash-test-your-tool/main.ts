/** Crash-tests a tool: the journey is crashed before and after every write, started again, and judged by log and effects. */

import assert from "node:assert/strict";
import { agent, tool } from "capstan";
import { crashSweep, scriptedModel } from "capstan/testing";
import { z } from "zod";

const bookings = new Map<string, string>(); // stands for a service that takes idempotency keys
const book = tool({
  name: "book",
  description: "Books a seat.",
  input: z.object({ seat: z.string() }),
  rerun: "keyed", // the service takes our key, so that a repeat is the same booking
  execute({ seat }, { idempotencyKey }) {
    bookings.set(idempotencyKey, seat);
    return `Booked ${seat}.`;
  },
});
const model = scriptedModel([{ calls: [{ name: "book", input: { seat: "12A" } }] }, { text: "You have 12A." }]);
const desk = agent({ name: "desk", model, instructions: "Book.", tools: [book] });

const report = await crashSweep({
  agents: [desk],
  journey: (runtime) => runtime.send(desk, "A window seat.", { key: "me", idempotencyKey: "seat" }),
});

console.log(`${report.crashes} crashes survived, ${report.doubts} of them with an outcome that nobody can know`);
assert.ok(report.crashes > 10);
assert.equal(report.doubts, 0);
