/** The `on` hooks of one session: each plugin reads its own bounded queue of events, and one at a time has its turn. */

import type { Engine } from "../ports/engine.ts";
import type { Journal } from "../ports/journal.ts";
import type { Plugin } from "../ports/plugin.ts";
import type { Clock } from "../words/clock.ts";
import type { Envelope } from "../words/event.ts";
import { LIMITS } from "../words/limits.ts";

type Observed = { readonly engine: Engine; readonly clock: Clock; readonly journal: Journal };

/**
 * Begins to hand events on; the loop never waits for it. A reader that falls behind is given facts from the store and open
 * blocks as one delta, and no event twice. After `end`, which may be called twice, only what is queued still comes; it
 * resolves when that was handed on.
 */
export function observe(
  { engine, clock, journal }: Observed,
  plugins: readonly Plugin[],
  concerns: (plugin: Plugin, agent: string) => boolean,
): { end(): Promise<void> } {
  const ended = new AbortController();
  const observing = plugins.filter((plugin) => plugin.on !== undefined);
  const parent = observing.length === 0 ? undefined : parentOf(journal);
  const watch = async (plugin: Plugin): Promise<void> => {
    const failed = once((title) => journal.live([{ type: "notice", severity: "warning", code: "hook-failed", title }]));
    const options = { after: "end", signal: ended.signal, background: true };
    for await (const envelope of engine.events(journal.sessionId, options)) {
      if (!concerns(plugin, envelope.agent)) continue;
      const problem = await handed(plugin, { ...envelope, ...(await parent) }, clock);
      if (problem !== undefined) failed(`Hook on of plugin ${plugin.name} ${problem}`);
    }
  };
  const watching = observing.map((plugin) => watch(plugin).catch(() => undefined)); // the session was removed or the engine closed
  return {
    async end() {
      ended.abort();
      await Promise.all(watching);
    },
  };
}

/** Of a sub-agent's session whose it is. */
async function parentOf(journal: Journal): Promise<Pick<Envelope, "parent">> {
  try {
    for await (const fact of journal.read({ after: 0, types: ["session.created"] })) {
      if (fact.type !== "session.created" || fact.parent === undefined) return {};
      const { sessionId, callId } = fact.parent;
      return { parent: { sessionId, callId } };
    }
  } catch {
    // the log cannot be read: whoever drives the session finds that out
  }
  return {};
}

/** Said once a hold: the notice is an event too. */
function once(say: (title: string) => void): (title: string) => void {
  let said = false;
  return (title) => {
    if (said) return;
    said = true;
    say(title);
  };
}

/** Why the hook did not take the event, if so. One that takes too long is left behind, and the next event comes. */
async function handed(plugin: Plugin, envelope: Envelope, clock: Clock): Promise<string | undefined> {
  try {
    const taking = plugin.on?.(envelope);
    if (taking === undefined || typeof taking.then !== "function") return undefined; // untyped code may return anything
    const late = Promise.withResolvers<string | undefined>();
    const ms = plugin.timeoutMs ?? LIMITS.hookTimeoutMs;
    const cancel = clock.after(ms, () => late.resolve(`took longer than ${ms} ms`), { background: true });
    const taken = taking.then(
      () => undefined,
      () => "failed",
    );
    const problem = await Promise.race([taken, late.promise]);
    cancel();
    return problem;
  } catch {
    return "failed";
  }
}
