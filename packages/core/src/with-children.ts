/** The events of a session with those of its sub-agents, as they come: one stream for whoever follows a whole tree. */

import type { Engine, EventsOptions } from "./engine.ts";
import { CapstanError } from "./errors.ts";
import type { Envelope } from "./event.ts";

type Waiting = {
  readonly source: AsyncIterator<Envelope>;
  next: Promise<{ readonly from: Waiting; readonly result: IteratorResult<Envelope> }>;
};

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
  const open = new Set<Waiting>();
  const follow = (id: string, from: EventsOptions): Waiting => {
    const events = engine.events(id, { ...from, signal });
    const source = (id === sessionId ? events : orNone(events))[Symbol.asyncIterator]();
    const waiting: Waiting = { source, next: Promise.resolve(undefined as never) }; // set by `advance` in the next line
    advance(waiting);
    open.add(waiting);
    return waiting;
  };
  const parents = new Map<string, NonNullable<Envelope["parent"]>>();
  const own = follow(sessionId, options);
  try {
    while (open.has(own)) {
      const { from, result } = await Promise.race([...open].map(({ next }) => next));
      if (result.done === true) {
        open.delete(from);
        continue;
      }
      advance(from);
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
    for (const { source, next } of open) {
      next.catch(() => undefined); // nobody waits for it any more
      await source.return?.();
    }
  }
}

function advance(waiting: Waiting): void {
  waiting.next = waiting.source.next().then((result) => ({ from: waiting, result }));
}

/** One that was removed meanwhile has no events. */
async function* orNone(events: AsyncIterable<Envelope>): AsyncGenerator<Envelope> {
  try {
    yield* events;
  } catch (error) {
    if (!CapstanError.is(error, "session-not-found")) throw error;
  }
}
