/** `capstan sessions watch`: every event of a session as it comes, one envelope a line, from whichever process it comes. */

import type { Config } from "../config.ts";
import { EXIT } from "./failure.ts";
import { knownSummary, withEngine } from "./stored-sessions.ts";

/** Goes on until Ctrl-C, or until nobody reads any more. */
export function watchSession(
  config: Config | undefined,
  id: string,
  { after }: { readonly after?: string },
): Promise<number> {
  return withEngine(config, async (engine, screen) => {
    await knownSummary(engine, id);
    const stop = new AbortController();
    let exitCode: number = EXIT.done;
    const end = (code: number) => (): void => {
      exitCode = code;
      stop.abort();
    };
    const handlers = { SIGINT: end(EXIT.interrupted), SIGTERM: end(143), SIGHUP: end(129) } as const;
    for (const [signal, handler] of Object.entries(handlers)) process.on(signal, handler);
    try {
      for await (const envelope of engine.events(id, { ...(after !== undefined && { after }), signal: stop.signal })) {
        if (!screen.open) break;
        screen.data(JSON.stringify(envelope));
      }
    } finally {
      for (const [signal, handler] of Object.entries(handlers)) process.off(signal, handler);
    }
    return exitCode;
  });
}
