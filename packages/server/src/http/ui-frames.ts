/** A run as frames of the AI SDK's stream: to its end, or to where only a person can move it. */

import type { Envelope, Event, Run, RunResult } from "@capstan/core";
import { isShown, UI_STREAM_END, type UiChunk, uiFrame, uiStream } from "@capstan/wire";
import { problemOf } from "./errors.ts";

export type UiFrames = {
  /** Own events up to this fact are what the client has seen. */
  readonly after?: number;
  readonly knownCalls?: readonly string[];
  readonly signal: AbortSignal;
  /** The result of the run, or what it waits for. */
  readonly result: () => Promise<RunResult<unknown>>;
};

type Came =
  | { readonly next: IteratorResult<Envelope> }
  | { readonly waits: RunResult<unknown> }
  | { readonly error: unknown };

export async function* uiFrames(run: Run<unknown>, options: UiFrames): AsyncGenerator<string> {
  const { after = 0, knownCalls = [], signal, result } = options;
  const stream = uiStream({ runId: run.id, inputId: run.inputId, knownCalls });
  const events = run.events({ children: true, signal })[Symbol.asyncIterator]();
  const inbox = inboxOf<Came>();
  const ask = (): void =>
    void events.next().then(
      (next) => inbox.add({ next }),
      (error: unknown) => inbox.add({ error }),
    );
  const asked = new Set<string>();
  const closed = new Set<string>();
  let looking = false;
  let waits: RunResult<unknown> | undefined;
  const look = (): void => {
    looking = true;
    result().then(
      (found) => inbox.add({ waits: found }),
      (error: unknown) => inbox.add({ error }),
    );
  };
  ask();
  try {
    while (!stream.ended) {
      const came = await inbox.next();
      if ("error" in came) throw came.error;
      if ("waits" in came) {
        looking = false;
        waits = came.waits.status === "waiting" ? came.waits : undefined;
      } else if (came.next.done === true) break;
      else {
        const { value } = came.next;
        ask();
        note(value.event, asked, closed);
        const seen = value.parent === undefined && value.event.seq <= after;
        if (!seen && isShown(value.event)) yield framesOf(stream.push(value));
        if (!looking && mayRest(value.event)) look();
      }
      if (waits === undefined || stream.ended) continue;
      const ids = waits.requests.map(({ requestId }) => requestId);
      if (ids.some((id) => closed.has(id))) {
        waits = undefined; // answered since; what was asked meanwhile nobody has looked at
        if (!looking && [...asked].some((id) => !closed.has(id))) look();
      } else if (ids.every((id) => asked.has(id))) yield framesOf(endOf(waits, stream.wait()));
    }
    if (!signal.aborted) yield UI_STREAM_END;
  } catch (error) {
    yield framesOf([{ type: "error", errorText: problemOf(error).message }]) + UI_STREAM_END;
  } finally {
    await events.return?.();
  }
}

function framesOf(chunks: readonly UiChunk[]): string {
  return chunks.map(uiFrame).join("");
}

/** A run that rests because its driver failed says so. */
function endOf({ error }: RunResult<unknown>, chunks: readonly UiChunk[]): readonly UiChunk[] {
  return error === undefined ? chunks : [{ type: "error", errorText: error.message }, ...chunks];
}

function note(event: Event, asked: Set<string>, closed: Set<string>): void {
  if (event.type === "request.opened") asked.add(event.requestId);
  if (event.type === "request.resolved") closed.add(event.requestId);
}

/** After these a run may wait for a person, or for a process that can drive it. */
function mayRest({ type }: Event): boolean {
  return type === "run.suspended" || type === "request.opened" || type === "notice";
}

/** What comes from several sides, one at a time, in the order in which it comes. */
function inboxOf<T>(): { add(item: T): void; next(): Promise<T> } {
  const items: T[] = [];
  let wake: (() => void) | undefined;
  return {
    add(item) {
      items.push(item);
      wake?.();
    },
    async next() {
      if (items.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      wake = undefined;
      return items.shift() as T; // it was woken for one
    },
  };
}
