/** A limit of time on work with a server: it can be started anew, and is longer while a person is asked. */

import type { Clock } from "@capstan/core";
import { MCP_LIMITS } from "../limits.ts";

export class TimeOver extends Error {}

export type Deadline = {
  /** Aborts when the time is over, or with the given signal. */
  readonly signal: AbortSignal;
  /** Rejects then; never resolves. */
  readonly reached: Promise<never>;
  /** The other side is alive. All restarts together give `MCP_LIMITS.callMaxMs`. */
  restart(): void;
  /** A person is asked: until the next `restart` there are `MCP_LIMITS.callMaxMs`. */
  pause(): void;
  end(): void;
};

export function deadline(clock: Clock, ms: number, outer: AbortSignal, message: string): Deadline {
  const controller = new AbortController();
  const { promise: reached, reject } = Promise.withResolvers<never>();
  reached.catch(() => undefined); // nobody waits for one that was met
  const stop = (reason: unknown): void => {
    controller.abort(reason);
    reject(reason instanceof Error ? reason : new Error("stopped", { cause: reason }));
  };
  let last = clock.monotonic() + MCP_LIMITS.callMaxMs;
  const onAbort = (): void => stop(outer.reason);
  let cancel = (): void => undefined;
  const restart = (): void => {
    cancel();
    const left = Math.min(ms, last - clock.monotonic());
    cancel = clock.after(left, () => stop(new TimeOver(message)));
  };
  restart();
  if (outer.aborted) onAbort();
  else outer.addEventListener("abort", onAbort, { once: true });
  return {
    signal: controller.signal,
    reached,
    restart,
    pause() {
      cancel();
      last = clock.monotonic() + MCP_LIMITS.callMaxMs;
      cancel = clock.after(MCP_LIMITS.callMaxMs, () => stop(new TimeOver("nobody answered what the server asks")));
    },
    end() {
      cancel();
      outer.removeEventListener("abort", onAbort);
    },
  };
}
