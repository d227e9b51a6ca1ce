/** Follows the events of a session for as long as the page looks at it: a cut connection is read on from its cursor. */

import type { Envelope, Event } from "@capstan/core";
import { type Connection, DoorError } from "./connection.ts";
import { ServerSentParser } from "./server-sent.ts";

export type Link = "connecting" | "open" | "lost" | "ended";
export type Following = {
  readonly connection: Connection;
  readonly sessionId: string;
  readonly after: string;
  readonly signal: AbortSignal;
  readonly link: (link: Link, why?: string) => void;
  readonly events: (events: readonly Event[]) => void;
};

/** The door says that it is alive every 15 s. */
const SILENT_MS = 40_000;
const RETRY_MS = 250;
const MOST_RETRY_MS = 5_000;

/** Resolves when the signal aborts, or when nothing more will come. */
export async function follow({ connection, sessionId, after, signal, link, events }: Following): Promise<void> {
  let cursor = after;
  let waitMs = RETRY_MS;
  const take = (read: Read): void => {
    cursor = read.cursor ?? cursor;
    waitMs = RETRY_MS;
    link("open");
    if (read.events.length > 0) events(read.events);
  };
  while (!signal.aborted) {
    try {
      const query = new URLSearchParams({ after: cursor });
      const path = `sessions/${encodeURIComponent(sessionId)}/events?${query.toString()}`;
      const how = await readAll(connection, path, signal, take);
      if (how.ended) return link("ended", how.why);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof DoorError && isFinal(error)) return link("ended", error.message);
    }
    if (signal.aborted) return;
    link("lost");
    await pause(waitMs, signal);
    waitMs = Math.min(waitMs * 2, MOST_RETRY_MS);
  }
}

type Read = { readonly cursor?: string; readonly events: readonly Event[] };
type End = { readonly ended: boolean; readonly why?: string };

async function readAll(
  connection: Connection,
  path: string,
  signal: AbortSignal,
  take: (read: Read) => void,
): Promise<End> {
  const silent = new AbortController();
  let timer = setTimeout(() => silent.abort(), SILENT_MS);
  const body = await connection
    .open(path, { accept: "text/event-stream", signal: AbortSignal.any([signal, silent.signal]) })
    .then((response) => response.body);
  const reader = body?.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  const parser = new ServerSentParser();
  take({ events: [] });
  try {
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
      if (done || value === undefined) return { ended: false };
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENT_MS);
      const end = deliver(parser, value, take);
      if (end !== undefined) return end;
    }
  } finally {
    clearTimeout(timer);
    silent.abort();
    await reader?.cancel().catch(() => undefined);
  }
}

function deliver(parser: ServerSentParser, text: string, take: (read: Read) => void): End | undefined {
  const found: Event[] = [];
  let cursor: string | undefined;
  let end: End | undefined;
  for (const { id, event, data } of parser.push(text)) {
    if (event === "end") end = { ended: true };
    else if (event === "error") end = endOf(data);
    else if (data !== "") found.push((JSON.parse(data) as Envelope).event); // the door's own
    cursor = id ?? cursor;
  }
  if (found.length > 0 || cursor !== undefined) take({ events: found, ...(cursor !== undefined && { cursor }) });
  return end;
}

function endOf(data: string): End {
  const { error } = JSON.parse(data) as { error: { message: string; retryable: boolean } }; // the door's own
  return { ended: !error.retryable, why: error.message };
}

function isFinal({ status }: DoorError): boolean {
  return status >= 400 && status < 500 && status !== 429 && status !== 408;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

/** Stored facts after `after` and before `before`, oldest first. */
export async function factsBetween(
  connection: Connection,
  { sessionId, after, before, signal }: { sessionId: string; after: number; before: number; signal: AbortSignal },
): Promise<readonly Event[]> {
  const stop = new AbortController();
  const facts: Event[] = [];
  const path = `sessions/${encodeURIComponent(sessionId)}/events?after=${after}&live=0`;
  const done = readAll(connection, path, AbortSignal.any([signal, stop.signal]), ({ events }) => {
    for (const event of events) {
      if (event.seq < before) facts.push(event);
      if (event.seq >= before - 1) stop.abort();
    }
  });
  await done.catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return facts;
}
