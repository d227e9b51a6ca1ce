import { expect, it } from "vitest";
import { budgetTrial } from "../harness/budget-trial.ts";
import { howMany } from "../harness/how-many.ts";

const TRIALS = howMany(1000);

it(`EDGE-08 TOOL-47 COST-08 fifty sub-agents beside each other never spend more than their dollar, in ${TRIALS} trials`, async () => {
  let all = 0;
  for (let seed = 1; seed <= TRIALS; seed++) {
    const { spent, children, reason } = await budgetTrial(seed);
    expect(spent, `trial ${seed}`).toBeLessThanOrEqual(1_000_000);
    expect(children).toBe(50);
    expect(["end-turn", "budget"]).toContain(reason);
    all += spent;
  }
  expect(all / TRIALS).toBeGreaterThan(100_000); // the budget is there to be used
}, 600_000);
