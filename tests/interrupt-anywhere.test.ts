import { systemClock } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { interrupted } from "./harness/interrupted-run.ts";
import { seedOfRun } from "./harness/random.ts";
import { randomInterrupts } from "./harness/random-interrupts.ts";
import { type Said, WIRE_FORMATS } from "./harness/wire-formats.ts";

const RUNS = 250;
const seed = seedOfRun(systemClock.now());

describe(`an interrupt, seed ${seed}`, () => {
  it("LOOP-08 LOOP-09 LOOP-10 EDGE-05 G4 G11 after any event of any run leaves one end, the partial text and a history that all providers take", async () => {
    const reasons = await randomInterrupts({ seed, runs: RUNS });
    expect(reasons.get("interrupted") ?? 0).toBeGreaterThan(RUNS / 5); // most came in time
  }, 60_000);

  it("LOOP-08 LOOP-09 LOOP-10 EDGE-05 after each event of one run with everything in it, on each wire format in turn", async () => {
    const ended = new Set<number>(); // formats whose run came to rest before the event
    for (let at = 1; ended.size < WIRE_FORMATS.length; at++) {
      const format = at % WIRE_FORMATS.length;
      if (ended.has(format)) continue;
      const choices = { hooked: at % 4 < 2, queued: at % 9 < 3, bySend: at % 25 < 5 };
      const reason = await interrupted({ format, turns: EVERYTHING, chunkBytes: 150, at, ...choices });
      if (reason !== undefined) continue;
      expect(at).toBeGreaterThan(30);
      ended.add(format);
    }
  }, 60_000);
});

const EVERYTHING: readonly Said[] = [
  {
    reasoning: "First.",
    text: "I read",
    calls: [
      { name: "quick", input: {} },
      { name: "slow", input: {} },
    ],
  },
  {
    text: "I write",
    calls: [
      { name: "sturdy", input: {} },
      { name: "deaf", input: {} },
      { name: "flow", input: {} },
      { name: "quick", input: {} },
    ],
  },
  {
    reasoning: "Then.",
    text: "I ask",
    calls: [
      { name: "asks", input: {} },
      { name: "quick", input: {} },
    ],
  },
  { text: "Never reached" },
];
