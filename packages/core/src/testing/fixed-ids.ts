/** Ids that are the same in every run of a test. */

import type { Ids } from "../words/ids.ts";

/**
 * `ses_1`, `ses_2`, `run_1`, ...: one counter a prefix; random tokens are `random_1`, ... Runtimes that share a store, also
 * one after a crash, must share the value: two of them give the same ids twice.
 */
export function fixedIds(): Ids {
  const counters = new Map<string, number>();
  const next = (prefix: string): string => {
    const count = (counters.get(prefix) ?? 0) + 1;
    counters.set(prefix, count);
    return `${prefix}_${count}`;
  };
  return { next, random: () => next("random") };
}
