import { systemClock } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { judgeAndClose, summaryOf } from "./harness/judge.ts";
import { killLoop } from "./harness/kill-loop.ts";
import { seedOfRun } from "./harness/random.ts";
import { temporaryFolder } from "./harness/temporary-folder.ts";

const seed = seedOfRun(systemClock.now());

/** The hundred kills are in tests/slow. `KILL_SEED=<seed>` repeats a run as far as chance goes. */
describe(`a killed worker, seed ${seed}`, () => {
  for (const durability of ["full", "relaxed"] as const) {
    it(`EDGE-01 EDGE-02 DUR-01 DUR-02 DUR-03 DUR-04 DUR-05 DUR-06 TEST-04 G1 G2 G3 G4 G5 G6 G16 keeps what was acknowledged and doubles nothing over 6 kills (${durability})`, async () => {
      const client = await killLoop({ folder: temporaryFolder(), durability, kills: 6, seed });
      const verdict = await judgeAndClose(client);
      console.log(`6 kills, ${durability}, seed ${seed}: ${summaryOf(verdict)}`);
      expect(verdict.problems).toEqual([]);
    }, 60_000);
  }

  it("EDGE-01 TEST-04 control: without the intent rule the same harness sees doubled effects", async () => {
    let doubled: readonly string[] = [];
    // where a kill strikes is chance: a series that hit no effect says nothing, so another one follows
    for (let series = 0; series < 12 && doubled.length === 0; series++) {
      const client = await killLoop({
        folder: temporaryFolder(),
        durability: "full",
        kills: 6,
        seed: seed + series,
        lies: true,
        aimed: 1,
        tools: ["never", "side"],
      });
      const verdict = await judgeAndClose(client);
      doubled = verdict.problems.filter((problem) => problem.includes("happened 2 times"));
      console.log(`control, seed ${seed + series}: ${doubled.length} doubled effects`);
    }
    expect(doubled).not.toEqual([]);
  }, 240_000);
});
