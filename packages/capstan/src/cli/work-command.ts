/** `capstan work`: a process that drives every session of the store that nobody else has, until a signal ends it. */

import { systemClock } from "@capstan/core";
import type { Config } from "../config.ts";
import { inertLine } from "./inert.ts";
import { type DoorFlags, openDoorRuntime } from "./serve-command-runtime.ts";

/** Time for what is in flight after the first signal; whatever is not done then goes on elsewhere. */
const CLOSE_GRACE_MS = 10_000;
/** A worker stays although it has nothing to do. */
const STAY_MS = 2 ** 40;
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Resolves with the exit code once everything is given back. */
export async function workCommand(name: string, given: Config | undefined, flags: DoorFlags): Promise<number> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  let told = false;
  const handlers = Object.entries(SIGNALS).map(([signal, code]) => {
    const handler = (): void => {
      if (told) process.exit(code); // everything acknowledged is stored
      told = true;
      stop();
    };
    process.on(signal, handler);
    return () => void process.off(signal, handler);
  });
  try {
    const { runtime, agents, notes } = await openDoorRuntime(given, flags);
    const leave = systemClock.after(STAY_MS, () => undefined);
    for (const note of notes) process.stderr.write(`  ! ${note}\n`);
    process.stderr.write(`${name}: works on the sessions of ${inertLine(agents.join(", "))}\n`);
    await stopped;
    leave();
    await runtime.close({ graceMs: CLOSE_GRACE_MS });
    return 0;
  } finally {
    for (const off of handlers) off();
  }
}
