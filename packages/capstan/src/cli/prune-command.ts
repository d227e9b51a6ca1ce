/** `capstan sessions prune`: deletes what is old, or more than should be kept. */

import { forgotten, pruneSessions, type Retention, systemClock } from "@capstan/core";
import type { Config } from "../config.ts";
import { EXIT, usage } from "./failure.ts";
import { withRuntime } from "./stored-sessions.ts";

export type PruneFlags = { readonly olderThan?: number; readonly keep?: number; readonly dryRun?: boolean };

const DAY_MS = 24 * 60 * 60 * 1000;

/** Writes the ids of what it deletes. What is unfinished stays. */
export function pruneCommand(
  config: Config | undefined,
  { olderThan, keep, dryRun = false }: PruneFlags,
): Promise<number> {
  if (olderThan === undefined && keep === undefined)
    throw usage("Say what is to go: --older-than <days>, --keep <number>");
  return withRuntime(config, async ({ runtime, screen }) => {
    const retention: Retention = {
      ...(olderThan !== undefined && { before: systemClock.now() - olderThan * DAY_MS }),
      ...(keep !== undefined && { keep }),
    };
    const gone = dryRun ? forgotten(await runtime.sessions(), retention) : await pruneSessions(runtime, retention);
    for (const { sessionId } of gone) screen.data(sessionId);
    screen.note(`${dryRun ? "Would delete" : "Deleted"} ${gone.length} sessions`);
    return EXIT.done;
  });
}
