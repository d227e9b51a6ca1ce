/** Events of a session or run as a response: envelopes, Anthropic-style events or lines of JSON. */

import { CapstanError, type Cursor, cursorOf, type Envelope } from "@capstan/core";
import { anthropicStream, isShown, sseFrame } from "@capstan/wire";
import { problemOf } from "./errors.ts";
import type { Call } from "./route.ts";
import { SSE_HEADERS, streamResponse } from "./stream-response.ts";

type Format = "events" | "anthropic" | "ndjson";
/** A place for one more stream, in the form that was asked for. */
export type Place = { readonly format: Format; readonly giveBack: () => void };
export type EventResponse = {
  /** Where the reader stands. */
  readonly after?: Cursor;
  /** Taken before something was done that cannot be taken back. Default: one that is taken now. */
  readonly place?: Place;
};
/** Opens the events; `signal` ends them. */
export type OpenEvents = (signal: AbortSignal) => AsyncIterable<Envelope>;

/** Throws `input-invalid` for a form that is none, and `limit-reached` for one stream too many. */
export function takePlace({ query, door, caller }: Call<unknown>): Place {
  return { format: formatOf(query.get("format") ?? "events"), giveBack: door.takeStream(caller) };
}

/** Throws what `takePlace` throws, and `cursor-invalid`. */
export async function eventResponse(
  call: Call<unknown>,
  open: OpenEvents,
  { after, place = takePlace(call) }: EventResponse = {},
): Promise<Response> {
  const { format, giveBack } = place;
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, call.door.closing]);
  const events = open(signal)[Symbol.asyncIterator]();
  const ended = (): void => {
    stop.abort();
    giveBack();
  };
  try {
    const first = after === undefined ? { next: events.next() } : await firstOf(events);
    const ndjson = format === "ndjson";
    // where the reader stands before anything came: cut off now, it would not know
    const stands = ndjson || after === undefined ? "" : `id: ${after}\n\n`;
    const frames = framesOf(first, events, format, { stands, closing: call.door.closing });
    return streamResponse(frames, {
      headers: ndjson ? { ...SSE_HEADERS, "content-type": "application/x-ndjson" } : SSE_HEADERS,
      clock: call.door.clock,
      ...(ndjson && { keepAlive: "\n" }),
      ended,
    });
  } catch (error) {
    ended();
    throw error;
  }
}

function formatOf(name: string): Format {
  if (name === "events" || name === "anthropic" || name === "ndjson") return name;
  throw new CapstanError("input-invalid", "format must be events, anthropic or ndjson");
}

type Pending = { readonly next: Promise<IteratorResult<Envelope>> };

/** A wrong cursor is an error with a status; a session that is silent must not hold up the answer. */
async function firstOf(events: AsyncIterator<Envelope>): Promise<Pending> {
  const next = events.next();
  let failed: { readonly error: unknown } | undefined;
  next.catch((error: unknown) => (failed = { error }));
  // reading of the store takes turns of the event loop, not time
  for (let turn = 0; turn < 16 && failed === undefined; turn++) await new Promise((resolve) => setImmediate(resolve));
  if (failed !== undefined) throw failed.error;
  return { next };
}

async function* framesOf(
  first: Pending,
  events: AsyncIterator<Envelope>,
  format: Format,
  { stands, closing }: { readonly stands: string; readonly closing: AbortSignal },
): AsyncGenerator<string> {
  const frame = framing(format);
  try {
    if (stands !== "") yield stands;
    for (let next = first.next; ; next = events.next()) {
      const { value, done } = await next;
      if (done === true) break;
      if (!isShown(value.event)) continue;
      const text = frame(value);
      if (text !== "") yield text;
    }
    // a door that closes cuts its streams: whoever reads comes back
    if (!closing.aborted) yield last("end", {}, format);
  } catch (error) {
    yield last("error", { error: problemOf(error) }, format);
  } finally {
    await events.return?.();
  }
}

/** Cursors count the session's own events; those of sub-agents carry none. */
function framing(format: Format): (envelope: Envelope) => string {
  if (format === "ndjson") return (envelope) => `${JSON.stringify({ cursor: cursorIn(envelope), ...envelope })}\n`;
  if (format === "events")
    return (envelope) => {
      const id = cursorIn(envelope);
      return sseFrame({ data: JSON.stringify(envelope), ...(id !== undefined && { id }) });
    };
  const stream = anthropicStream();
  return (envelope) => {
    const id = cursorIn(envelope);
    const named = stream.push(envelope);
    return named
      .map((event, at) =>
        sseFrame({
          event: event.type,
          data: JSON.stringify(event),
          // whoever leaves between two of them gets both again
          ...(id !== undefined && at === named.length - 1 && { id }),
        }),
      )
      .join("");
  };
}

function cursorIn({ event, parent }: Envelope): string | undefined {
  return parent === undefined ? cursorOf(event) : undefined;
}

function last(event: "end" | "error", data: object, format: Format): string {
  if (format === "ndjson") return `${JSON.stringify({ type: event, ...data })}\n`;
  if (format === "anthropic" && event === "end") return "";
  return sseFrame({ event, data: JSON.stringify({ type: event, ...data }) });
}
