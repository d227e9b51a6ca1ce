/** Each event once, and of each text only what is new, although a stream that was cut is read again. */

import { type Envelope, type Event, isLive, type Live } from "@capstan/core";

type Position = { readonly seq: number; readonly eph: number };
type Seen = { at: Position; readonly blocks: Map<string, { shown: number; finished: boolean }> };

/** Of a session and its sub-agents. */
export function sieve(): { pass(envelope: Envelope): Envelope | undefined } {
  const sessions = new Map<string, Seen>();
  return {
    pass(envelope) {
      const { sessionId, event } = envelope;
      const seen = sessions.get(sessionId) ?? { at: { seq: 0, eph: 0 }, blocks: new Map() };
      sessions.set(sessionId, seen);
      const fresh = isLive(event) ? live(seen, event) : fact(seen, event);
      if (fresh === undefined) return undefined;
      return fresh === event ? envelope : { ...envelope, event: fresh };
    },
  };
}

function fact(seen: Seen, event: Exclude<Event, Live>): Event | undefined {
  if (event.seq <= seen.at.seq) return undefined;
  seen.at = { seq: event.seq, eph: 0 };
  if (event.type === "turn.finished" || event.type === "run.finished") seen.blocks.clear();
  return event;
}

function live(seen: Seen, event: Live): Event | undefined {
  const isNew = event.seq > seen.at.seq || (event.seq === seen.at.seq && event.eph > seen.at.eph);
  if (isNew) seen.at = { seq: event.seq, eph: event.eph };
  if (event.type === "block.started") {
    if (seen.blocks.has(event.blockId)) return undefined;
    seen.blocks.set(event.blockId, { shown: 0, finished: false });
    return event;
  }
  if ("delta" in event) {
    const block = seen.blocks.get(event.blockId);
    if (block === undefined || block.finished) return isNew ? event : undefined;
    const delta = event.delta.slice(Math.max(0, block.shown - event.offset));
    if (delta === "") return undefined;
    const offset = event.offset + event.delta.length - delta.length;
    block.shown = offset + delta.length;
    return offset === event.offset ? event : { ...event, offset, delta };
  }
  if (event.type === "block.finished") {
    const block = seen.blocks.get(event.blockId);
    if (block?.finished === true) return undefined;
    if (block !== undefined) block.finished = true;
    return event;
  }
  return isNew ? event : undefined;
}
