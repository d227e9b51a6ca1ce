/** Many random interrupts from one seed, and how their runs ended. */

import type { StopReason } from "@capstan/core";
import fc from "fast-check";
import { interrupted, type Journey, journeys } from "./interrupted-run.ts";

export type RandomInterrupts = {
  readonly seed: number;
  readonly runs: number;
  /** In place of members of each journey. */
  readonly fixed?: Partial<Journey>;
};

/** How many runs ended for which reason; `undefined` for those that came to rest before their event. Throws with the smallest journey that fails. */
export async function randomInterrupts({
  seed,
  runs,
  fixed,
}: RandomInterrupts): Promise<ReadonlyMap<StopReason | undefined, number>> {
  const reasons = new Map<StopReason | undefined, number>();
  const play = async (made: Journey): Promise<void> => {
    const reason = await interrupted({ ...made, ...fixed });
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  };
  await fc.assert(fc.asyncProperty(journeys, play), { numRuns: runs, seed });
  return reasons;
}
