import { systemClock } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { judgeAndClose, summaryOf } from "../harness/judge.ts";
import { killLoop } from "../harness/kill-loop.ts";
import { seedOfRun } from "../harness/random.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

const seed = seedOfRun(systemClock.now());

describe(`a hundred kills, seed ${seed}`, () => {
  for (const durability of ["full", "relaxed"] as const) {
    it(`EDGE-01 EDGE-02 DUR-01 DUR-02 DUR-03 DUR-04 DUR-05 DUR-06 TEST-04 G1 G2 G3 G4 G5 G6 G16 keeps what was acknowledged and doubles nothing over 50 kills (${durability})`, async () => {
      const client = await killLoop({ folder: temporaryFolder(), durability, kills: 50, seed });
      const verdict = await judgeAndClose(client);
      console.log(`50 kills, ${durability}, seed ${seed}: ${summaryOf(verdict)}`);
      expect(verdict.problems).toEqual([]);
    }, 240_000);
  }

  it("EDGE-01 TEST-04 control: without the intent rule 12 random kills double effects", async () => {
    let doubled: readonly string[] = [];
    // where a kill strikes is chance: a series that hit no effect says nothing, so another one follows
    for (let series = 0; series < 12 && doubled.length === 0; series++) {
      const client = await killLoop({
        folder: temporaryFolder(),
        durability: "relaxed",
        kills: 12,
        seed: seed + series,
        lies: true,
        tools: ["never", "side"],
      });
      const verdict = await judgeAndClose(client);
      doubled = verdict.problems.filter((problem) => problem.includes("happened 2 times"));
      console.log(`control, 12 kills, seed ${seed + series}: ${doubled.length} doubled effects`);
    }
    expect(doubled).not.toEqual([]);
  }, 240_000);
});
