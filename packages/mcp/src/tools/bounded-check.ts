/** Runs a check of what strangers wrote, and ends it when it takes too long: nothing else could end a pattern or a schema that is a trap. */

import { createContext, Script } from "node:vm";

const box: { work: () => unknown } = createContext({ work: () => undefined }) as { work: () => unknown };
const script = new Script("work()");

/** The value of `work`; undefined when it was ended after `timeoutMs`. `work` must not wait and must leave nothing half done. */
export function boundedCheck<T>(work: () => T, timeoutMs: number): T | undefined {
  box.work = work;
  try {
    return script.runInContext(box, { timeout: timeoutMs }) as T; // what `work` returns
  } catch (error) {
    if (isTimeout(error)) return undefined;
    throw error;
  } finally {
    box.work = () => undefined;
  }
}

/** The error may be one of the other context, whose `Error` is another one. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}
