/** The time that a hook has, and what becomes of its failures. */

import type { Hold } from "../hold/hold.ts";
import type { Plugin } from "../ports/plugin.ts";
import { CapstanError, messageOf } from "../words/errors.ts";
import { LIMITS } from "../words/limits.ts";

/** What is awaited through `pause` takes none of the hook's time, and its failure is not the hook's own. */
export type TimeLimit = { readonly signal: AbortSignal; readonly pause: <T>(inner: Promise<T>) => Promise<T> };

/** Runs a hook with its time limit. Its failures become `hook-failed`. */
export async function timedHook<T>(
  hold: Hold,
  plugin: Plugin,
  hook: string,
  run: (limit: TimeLimit) => Promise<T>,
): Promise<T> {
  const { clock } = hold.definitions;
  const timeout = new AbortController();
  const passed: unknown[] = [];
  let expire: (error: unknown) => void = () => undefined;
  const expired = new Promise<never>((_resolve, reject) => (expire = reject));
  expired.catch(() => undefined); // nobody waits for it when the hook was in time
  const stop = hold.stopSignal();
  const arm = (): (() => void) => {
    const ms = stop.aborted ? LIMITS.interruptGraceMs : (plugin.timeoutMs ?? LIMITS.hookTimeoutMs);
    return clock.after(ms, () => {
      const error = new CapstanError("hook-failed", `Hook ${hook} of plugin ${plugin.name} took longer than ${ms} ms`);
      timeout.abort(error);
      expire(error);
    });
  };
  let paused = 0;
  let cancel = arm();
  const rearm = (): void => {
    cancel();
    if (paused === 0) cancel = arm();
  };
  const pause: TimeLimit["pause"] = async (inner) => {
    paused += 1;
    cancel();
    try {
      return await inner;
    } catch (error) {
      passed.push(error); // not the hook's own failure
      throw error;
    } finally {
      paused -= 1;
      rearm();
    }
  };
  stop.addEventListener("abort", rearm, { once: true });
  try {
    const signal = AbortSignal.any([timeout.signal, stop]);
    return await Promise.race([run({ signal, pause }), expired]);
  } catch (error) {
    if (passed.includes(error) || CapstanError.is(error) || hold.stopping) throw error;
    throw new CapstanError("hook-failed", `Hook ${hook} of plugin ${plugin.name} failed: ${messageOf(error)}`, {
      cause: error,
    });
  } finally {
    paused = Number.POSITIVE_INFINITY; // a hook that was left sets no timer any more
    cancel();
    stop.removeEventListener("abort", rearm);
  }
}

/** Whether the run goes on without the hook that failed, where its failure may be `ignored`: that is then said in a notice. */
export function isPassedOver(hold: Hold, error: unknown, ignored: boolean): boolean {
  if (!ignored || hold.halted.aborted || !CapstanError.is(error, "hook-failed")) return false;
  hold.notice("warning", "hook-failed", messageOf(error));
  return true;
}
