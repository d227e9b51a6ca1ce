import { systemClock } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { howMany } from "../harness/how-many.ts";
import { seedOfRun } from "../harness/random.ts";
import { randomInterrupts } from "../harness/random-interrupts.ts";

const RUNS = howMany(5_000);
const seed = seedOfRun(systemClock.now());

describe(`${RUNS} random interrupts, with hooks, seed ${seed}`, () => {
  it("LOOP-08 LOOP-09 LOOP-10 EDGE-05 G4 G11 leave one end within a second and a history that all providers take", async () => {
    const reasons = await randomInterrupts({ seed, runs: RUNS, fixed: { hooked: true } });
    expect(reasons.get("interrupted") ?? 0).toBeGreaterThan(RUNS / 5);
  }, 600_000);
});
