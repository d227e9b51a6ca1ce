/** The events of a session with those of its sub-agents, as they come: one stream for whoever follows a whole tree. */

import type { Engine, EventsOptions } from "../ports/engine.ts";
import { CapstanError } from "../words/errors.ts";
import type { Envelope } from "../words/event.ts";

type Source = AsyncIterator<Envelope>;
type Came = { readonly from: Source; readonly result: IteratorResult<Envelope> };

type Child = { readonly source: Source; readonly parent: NonNullable<Envelope["parent"]>; seen: number };
/** What a task's session holds when the task ends. */
type Through = { readonly child: Child; readonly seq: number };
/** An event; the end of a task is kept back until all of that was shown. */
type Held = Partial<Through> & { readonly from: Source; readonly envelope: Envelope };

/**
 * Ends when the session's own events end. A child's events come from its beginning when its `task.started` is in the
 * stream, all that it did until then before its `task.finished`; each envelope names the session it is of, and that of a
 * child its parent. Cursors count the session's own events.
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
  const family = new Family(engine, (id) => follow(id, { background: true }));
  const isDue = ({ child, seq = 0 }: Held): boolean =>
    child === undefined || child.seen >= seq || !open.has(child.source);
  let held: readonly Held[] = [];
  const own = follow(sessionId, options);
  try {
    while (open.has(own)) {
      const { from, result } = await next.came();
      if (result.done === true) open.delete(from);
      else {
        const envelope = family.seen(result.value);
        held = [{ from, envelope, ...(await family.through(envelope)) }, ...held]; // it may be what the others wait for
      }
      for (const item of held.filter(isDue)) {
        held = held.filter((other) => other !== item);
        next.ask(item.from);
        yield item.envelope;
        await family.start(item.envelope);
      }
    }
  } finally {
    stop.abort();
    for (const source of open) await source.return?.();
  }
}

/** The sessions below one, as far as its events have named them. */
class Family {
  readonly #engine: Engine;
  readonly #follow: (sessionId: string) => Source;
  readonly #children = new Map<string, Child>();
  /** Sessions by the task that they do. */
  readonly #tasks = new Map<string, string>();

  constructor(engine: Engine, follow: (sessionId: string) => Source) {
    this.#engine = engine;
    this.#follow = follow;
  }

  /** The event with the parent that its session has here. */
  seen(envelope: Envelope): Envelope {
    const child = this.#children.get(envelope.sessionId);
    if (child === undefined) return envelope;
    child.seen = envelope.event.seq;
    return { ...envelope, parent: child.parent };
  }

  async start({ sessionId, event }: Envelope): Promise<void> {
    if (event.type !== "task.started" || event.childSessionId === undefined) return;
    this.#tasks.set(`${sessionId} ${event.taskId}`, event.childSessionId);
    if (this.#children.has(event.childSessionId)) return;
    const child = await this.#engine.summary(event.childSessionId);
    if (child?.parent !== sessionId) return; // removed, or of the session that this one was forked from
    const parent = { sessionId, callId: event.callId ?? "" };
    this.#children.set(event.childSessionId, { source: this.#follow(event.childSessionId), parent, seen: 0 });
  }

  /** What has to be shown before this event: it is the end of a task, and the task's session is followed here. */
  async through({ sessionId, event }: Envelope): Promise<Through | undefined> {
    if (event.type !== "task.finished") return undefined;
    const id = this.#tasks.get(`${sessionId} ${event.taskId}`) ?? "";
    const child = this.#children.get(id);
    return child === undefined ? undefined : { child, seq: (await this.#engine.summary(id))?.head ?? 0 };
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
