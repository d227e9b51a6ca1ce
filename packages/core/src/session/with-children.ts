/** The events of a session with those of its sub-agents, as they come: one stream for whoever follows a whole tree. */

import type { Engine, EventsOptions } from "../ports/engine.ts";
import { CapstanError } from "../words/errors.ts";
import type { Envelope } from "../words/event.ts";

type Source = AsyncIterator<Envelope>;
type Came = { readonly from: Source; readonly result: IteratorResult<Envelope> };

/**
 * Ends when the session's own events end. A child's events come from its beginning when its `task.started` is in the
 * stream; each envelope names the session it is of, and that of a child its parent. Cursors count the session's own events.
 */
export async function* withChildren(
  engine: Engine,
  sessionId: string,
  options: EventsOptions = {},
): AsyncGenerator<Envelope> {
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  const open = new Set<Source>();
  const next = inOrder();
  const follow = (id: string, from: EventsOptions): Source => {
    const events = engine.events(id, { ...from, signal });
    const source = (id === sessionId ? events : orNone(events))[Symbol.asyncIterator]();
    open.add(source);
    next.ask(source);
    return source;
  };
  const parents = new Map<string, NonNullable<Envelope["parent"]>>();
  const own = follow(sessionId, options);
  try {
    while (open.has(own)) {
      const { from, result } = await next.came();
      if (result.done === true) {
        open.delete(from);
        continue;
      }
      next.ask(from);
      const { event } = result.value;
      const parent = parents.get(result.value.sessionId);
      yield parent === undefined ? result.value : { ...result.value, parent };
      if (event.type !== "task.started" || event.childSessionId === undefined || parents.has(event.childSessionId))
        continue;
      const child = await engine.summary(event.childSessionId);
      if (child?.parent !== result.value.sessionId) continue; // removed, or of the session that this one was forked from
      parents.set(event.childSessionId, { sessionId: result.value.sessionId, callId: event.callId ?? "" });
      follow(event.childSessionId, { background: true });
    }
  } finally {
    stop.abort();
    for (const source of open) await source.return?.();
  }
}

/** What many sources give, one at a time of each, in the order in which it comes. One that is silent costs nothing. */
function inOrder(): { ask(source: Source): void; came(): Promise<Came> } {
  const ready: (Came | { readonly error: unknown })[] = [];
  let wake: (() => void) | undefined;
  const add = (item: Came | { readonly error: unknown }): void => {
    ready.push(item);
    wake?.();
  };
  return {
    ask(source) {
      source.next().then(
        (result) => add({ from: source, result }),
        (error: unknown) => add({ error }),
      );
    },
    async came() {
      if (ready.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      wake = undefined;
      const item = ready.shift();
      if (item === undefined) throw new Error("it was woken for something");
      if ("error" in item) throw item.error;
      return item;
    },
  };
}

/** One that was removed meanwhile has no events. */
async function* orNone(events: AsyncIterable<Envelope>): AsyncGenerator<Envelope> {
  try {
    yield* events;
  } catch (error) {
    if (!CapstanError.is(error, "session-not-found")) throw error;
  }
}
