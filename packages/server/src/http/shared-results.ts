/** Waiting for results of runs in many short requests: one wait a run, however often it is asked for. */

import { CapstanError, type Clock, type Run, type RunResult } from "@capstan/core";
import { SERVER_LIMITS } from "../server-limits.ts";
import { inTime } from "./caller.ts";

export type SharedResults = {
  /** `undefined` when it does not come within `waitMs`. */
  of(run: Run, waitMs: number): Promise<RunResult | undefined>;
  /** However long it takes. */
  settled(run: Run): Promise<RunResult>;
};

export function sharedResults(clock: Clock): SharedResults {
  const waiting = new Map<string, Promise<RunResult>>();
  const settled = (run: Run): Promise<RunResult> => {
    const name = `${run.session.id} ${run.id}`;
    const known = waiting.get(name);
    if (known !== undefined) return known;
    const result = run.result();
    waiting.set(name, result);
    const forget = (): void => void waiting.delete(name);
    result.then(forget, forget);
    return result;
  };
  return {
    settled,
    async of(run, waitMs) {
      try {
        return await inTime(clock, Math.min(waitMs, SERVER_LIMITS.waitMs), "The run", () => settled(run));
      } catch (error) {
        if (CapstanError.is(error, "timeout")) return undefined;
        throw error;
      }
    },
  };
}
