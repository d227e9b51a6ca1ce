/** `capstan stdio`: the NDJSON door on the pipes of the process, as a desktop program starts it for a sidecar. */

import { serveStdio } from "@capstan/server/stdio";
import type { Config } from "../config.ts";
import { inertLine } from "./inert.ts";
import { protocolOnly } from "./protocol-output.ts";
import { endSoon, keepWithoutReaders, untilSignal } from "./serve-command-end.ts";
import { type DoorFlags, openDoorRuntime } from "./serve-command-runtime.ts";

const CLOSE_GRACE_MS = 2_000;

/** Resolves with the exit code when the input ended, nobody reads any more, or a signal came. */
export async function stdioCommand(name: string, given: Config | undefined, flags: DoorFlags): Promise<number> {
  const output = protocolOnly();
  keepWithoutReaders();
  const told = untilSignal();
  const log = (line: string): void => void process.stderr.write(`${name}: ${inertLine(line)}\n`);
  const { runtime, agent, folder, notes } = await openDoorRuntime(given, flags);
  try {
    for (const note of notes) log(note);
    await serveStdio({ runtime, agent, workspace: folder, output, log, signal: told.signal });
    return 0;
  } finally {
    await runtime.close({ graceMs: CLOSE_GRACE_MS });
    told.forget();
    endSoon();
  }
}
