/** The end of a door of the command: told by a signal, and kept up by nobody. */

const LAST_MS = 1_000;

/** The first signal aborts; the second ends the process at once: everything acknowledged is on disk. */
export function untilSignal(): { readonly signal: AbortSignal; forget(): void } {
  const told = new AbortController();
  const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  const handlers = Object.entries(codes).map(([name, code]) => {
    const handler = (): void => {
      if (told.signal.aborted) process.exit(code);
      told.abort();
    };
    process.on(name, handler);
    return () => void process.off(name, handler);
  });
  return { signal: told.signal, forget: () => handlers.forEach((off) => off()) };
}

/** Nothing that a tool left behind, and no reader that stands still, keeps the process up: what is written may still go out. */
export function endSoon(): void {
  setTimeout(() => process.exit(), LAST_MS).unref();
}

/** Notes go to whoever reads them; that nobody does any more ends no door. */
export function keepWithoutReaders(): void {
  process.stderr.on("error", () => undefined);
}
