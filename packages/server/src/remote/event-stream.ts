/** Events of a server as they come, through cut connections: read again from the cursor, without loss and without repeats. */

import { CapstanError, type Cursor, type Envelope, ERROR_CODES, sleep } from "@capstan/core";
import { WIRE_LIMITS } from "@capstan/wire";
import { SERVER_LIMITS } from "../server-limits.ts";
import { type Connection, retryMs } from "./connection.ts";
import { sieve } from "./sieve.ts";

export type EventStream = {
  readonly path: string;
  readonly children: boolean;
  readonly live: boolean;
  readonly after?: Cursor;
  readonly signal?: AbortSignal | undefined;
};

type Frame = { readonly id?: string; readonly event?: string; readonly data: string };

/** Ends where the server says that there will be no more. Throws `server-unreachable` when it stays away. */
export async function* eventStream(connection: Connection, stream: EventStream): AsyncGenerator<Envelope> {
  const { path, children, live, signal } = stream;
  const { clock, signal: closed } = connection;
  const stop = new AbortController();
  const ended = AbortSignal.any([stop.signal, closed, ...(signal === undefined ? [] : [signal])]);
  const fresh = sieve();
  let { after } = stream;
  let failures = 0;
  try {
    while (!ended.aborted) {
      const begun = clock.monotonic();
      let lost: unknown = new CapstanError(
        "server-unreachable",
        "The server's stream of events breaks off again and again",
      );
      try {
        const query = { children: children ? 1 : undefined, live: live ? undefined : 0, after };
        const response = await connection.ask(path, { query, signal: ended, again: false });
        for await (const { id, event, data } of framesOf(connection, response, ended)) {
          if (event === "end") return;
          if (event === "error") throw toldError(data);
          // sub-agents are followed from where they began, so that with them it is all read again
          if (id !== undefined && (!children || after === "end")) after = id;
          const envelope = data === "" ? undefined : fresh.pass(JSON.parse(data) as Envelope); // our own door
          if (envelope === undefined) continue;
          failures = 0;
          yield envelope;
        }
      } catch (error) {
        if (ended.aborted) return;
        if (CapstanError.is(error) && error.code !== "server-unreachable" && error.code !== "closed") throw error;
        lost = error;
      }
      if (clock.monotonic() - begun > SERVER_LIMITS.keepAliveMs) failures = 0; // it held, and had nothing to say
      if (++failures >= SERVER_LIMITS.reconnects) throw lost;
      await sleep(clock, retryMs(failures), ended).catch(() => undefined); // then it ends
    }
  } finally {
    stop.abort();
  }
}

function toldError(data: string): CapstanError {
  const { error } = JSON.parse(data) as { error: { code: string; message: string } }; // our own door
  const code = ERROR_CODES.find((known) => known === error.code) ?? "run-failed";
  return new CapstanError(code, error.message);
}

/** A connection on which not even a sign of life comes is cut. */
async function* framesOf(connection: Connection, response: Response, signal: AbortSignal): AsyncGenerator<Frame> {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const silence = connection.clock.after(
        SERVER_LIMITS.keepAliveMs * 3,
        () => void reader.cancel().catch(() => undefined), // read() says so
        { background: true },
      );
      const { value, done } = await reader.read().finally(silence);
      if (done) break;
      text += decoder.decode(value, { stream: true });
      if (text.length > WIRE_LIMITS.eventBytes)
        throw new CapstanError("server-unreachable", "The server sends an event without an end");
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const frame = frameOf(block);
        if (frame !== undefined) yield frame;
      }
    }
  } finally {
    if (!signal.aborted) await reader.cancel().catch(() => undefined); // it may be cut already
  }
}

function frameOf(block: string): Frame | undefined {
  const frame: { id?: string; event?: string; data: string } = { data: "" };
  let any = false;
  for (const line of block.split("\n")) {
    const at = line.indexOf(": ");
    const name = line.slice(0, at);
    if (name !== "id" && name !== "event" && name !== "data") continue;
    frame[name] = line.slice(at + 2);
    any = true;
  }
  return any ? frame : undefined;
}
