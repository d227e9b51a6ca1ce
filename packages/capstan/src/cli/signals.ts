/** Signals while a run is followed: Ctrl-C interrupts it, twice leaves it, SIGTERM and SIGHUP leave it in good order. */

import { messageOf, type Run, type Runtime } from "@capstan/core";
import { EXIT } from "./failure.ts";
import { inertLine } from "./inert.ts";
import type { Screen } from "./screen.ts";

type Options = { readonly name: string; readonly runtime: Runtime; readonly screen: Screen };

const CLOSE_GRACE_MS = 2_000;

/** A run that is left goes on where it was with `resume`. */
export function onSignals(run: Run<unknown>, { name, runtime, screen }: Options): { end(): void } {
  const later = `"${name} resume ${run.session.id}" goes on with it`;
  let interrupted = false;
  const onInterrupt = (): void => {
    screen.endAnswer();
    if (interrupted) {
      screen.note(`${name}: left the run; ${later}`);
      process.exit(EXIT.interrupted); // everything acknowledged is on disk
    }
    interrupted = true;
    screen.note("  … interrupting; Ctrl-C again leaves at once", "dim");
    run.session
      .interrupt(run.id)
      .catch((error: unknown) => screen.note(`${name}: ${inertLine(messageOf(error))}`, "red"));
  };
  const leave = (code: number) => (): void => {
    screen.note(`${name}: told to end; ${later}`);
    void runtime.close({ graceMs: CLOSE_GRACE_MS }).finally(() => process.exit(code));
  };
  const handlers = { SIGINT: onInterrupt, SIGTERM: leave(143), SIGHUP: leave(129) } as const;
  for (const [signal, handler] of Object.entries(handlers)) process.on(signal, handler);
  return {
    end() {
      for (const [signal, handler] of Object.entries(handlers)) process.off(signal, handler);
    },
  };
}
