/** Waiting for code of others that is given no signal (a resolver, a schema, a price): not for ever, and not past an interrupt. */

import { CapstanError } from "../words/errors.ts";
import { LIMITS } from "../words/limits.ts";
import { type Checked, checkNow, type Schema } from "../words/schema.ts";
import type { Hold } from "./hold.ts";

/** Throws the reason of an interrupt or of the end of the hold, and `timeout`. What comes later is ignored. */
export async function within<T>(
  hold: Hold,
  what: string,
  work: T | Promise<T>,
  ms: number = LIMITS.foreignMs,
): Promise<T> {
  if (!(work instanceof Promise)) return work;
  const stop = hold.stop({ halts: true });
  const cancel = hold.definitions.clock.after(ms, () =>
    stop.abort(new CapstanError("timeout", `${what} took longer than ${ms} ms`)),
  );
  work.catch(() => undefined); // nobody listens to what was left
  try {
    return await new Promise<T>((resolve, reject) => {
      const leave = (): void => reject(stop.signal.reason);
      if (stop.aborted) return leave();
      stop.onStop = leave;
      work.then(resolve, reject);
    });
  } finally {
    cancel();
    stop.end();
  }
}

/** `check`, at once where the schema answers at once. */
export function checkedBy<Output>(hold: Hold, schema: Schema<Output>, value: unknown): Promise<Checked<Output>> {
  return within(hold, "A schema's check", checkNow(schema, value));
}
