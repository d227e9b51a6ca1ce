import { systemClock } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { judgeAndClose, summaryOf } from "../harness/judge.ts";
import { killLoop } from "../harness/kill-loop.ts";
import { seedOfRun } from "../harness/random.ts";
import { struckSeries } from "../harness/struck-series.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

const seed = seedOfRun(systemClock.now());
const series = { durability: "relaxed", effects: 12 } as const;

describe(`a hundred kills, seed ${seed}`, () => {
  for (const durability of ["full", "relaxed"] as const) {
    it(`EDGE-01 EDGE-02 DUR-01 DUR-02 DUR-03 DUR-04 DUR-05 DUR-06 TEST-04 G1 G2 G3 G4 G5 G6 G16 keeps what was acknowledged and doubles nothing over 50 kills (${durability})`, async () => {
      const client = await killLoop({ folder: temporaryFolder(), durability, kills: 50, seed });
      const verdict = await judgeAndClose(client);
      console.log(`50 kills, ${durability}, seed ${seed}: ${summaryOf(verdict)}`);
      expect(verdict.problems).toEqual([]);
    }, 240_000);
  }

  it("EDGE-01 DUR-02 DUR-03 TEST-04 G3 twelve deaths, each between an effect and its result, double nothing", async () => {
    const verdict = await judgeAndClose(await struckSeries({ ...series, folder: temporaryFolder(), lies: false }));
    expect(verdict.problems).toEqual([]);
    expect(verdict).toMatchObject({ holds: 12, doubts: 12 });
  }, 60_000);

  it("EDGE-01 TEST-04 control: without the intent rule the same deaths double every effect", async () => {
    const verdict = await judgeAndClose(await struckSeries({ ...series, folder: temporaryFolder(), lies: true }));
    expect(verdict.problems.filter((problem) => problem.includes("happened 2 times"))).toHaveLength(12);
  }, 60_000);
});
