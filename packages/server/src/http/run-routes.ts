/** Runs over HTTP: an input becomes one, it is followed, and its result is waited for. */

import {
  CapstanError,
  type Envelope,
  isLive,
  jsonSchema,
  type Part,
  type Run,
  type SendOptions,
  type Session,
  sleep,
} from "@capstan/core";
import type { Json, RunResult } from "@capstan/core";
import { SERVER_LIMITS } from "../server-limits.ts";
import { refuseUntrusted } from "./caller.ts";
import { json } from "./errors.ts";
import { cursorIn, seqOf } from "./cursor.ts";
import { type EventResponse, eventResponse, type Place, takePlace } from "./event-response.ts";
import { type Call, type Door, type Route, route } from "./route.ts";
import { refuseOther } from "./same-opening.ts";
import { type SendBody, sendBody, sendNewBody } from "./schemas.ts";
import { idempotencyKeyOf, integer, openingOf, sessionOf } from "./session-routes.ts";

export const runRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/send",
    summary: "One input to a new session, or to the one that `key` names. Honours Idempotency-Key.",
    body: sendNewBody,
    query: ["format"],
    run: async (call) => {
      const { agent, key, title, metadata, mode, workspace, messages, ...sending } = call.body;
      const given = { key, title, metadata, mode, workspace, messages };
      const { agent: _agent, ...opening } = openingOf(call, { agent, ...defined(given) });
      const { input, options } = sendOptions(call, { ...sending, ...(mode !== undefined && { mode }) });
      return sent(call, async () => {
        const run = await call.runtime.send(agent, input, { ...opening, ...options });
        if (options.idempotencyKey !== undefined && key === undefined)
          await refuseOther(run.session, options.idempotencyKey, call.body);
        return run;
      });
    },
  }),
  route({
    method: "post",
    path: "/sessions/:id/send",
    summary: "One input. Honours Idempotency-Key; with Accept: text/event-stream the answer is its events.",
    body: sendBody,
    query: ["format"],
    run: async (call) => {
      const { input, options } = sendOptions(call, call.body);
      const session = await sessionOf(call);
      return sent(call, () => session.send(input, options));
    },
  }),
  route({
    method: "get",
    path: "/sessions/:id/runs/:run",
    summary: "The result of a run, or of the newest with `latest`; waits for it up to `waitMs`.",
    query: ["waitMs"],
    run: async (call) => {
      const run = await runOf(call);
      const waitMs = integer(call.query, "waitMs", SERVER_LIMITS.waitMs) ?? 0;
      const result = (await call.door.results.of(run, waitMs)) ?? (await read(call, run));
      const id = { runId: run.id, inputId: run.inputId };
      return result === undefined ? json({ ...id, status: "running" }, 202) : json({ ...id, ...shown(result) });
    },
  }),
  route({
    method: "get",
    path: "/sessions/:id/runs/:run/events",
    summary: "Events of a run, from its first to its end; after a cursor without the facts up to it.",
    query: ["after", "children", "live", "format"],
    streams: true,
    run: async (call) => {
      return runEvents(call, await runOf(call), seqOf(cursorIn(call)));
    },
  }),
];

/** Of a run that is over, or waits, the result is only to be read: that is no waiting which a caller must ask for. */
async function read({ door }: Call<unknown>, run: Run): Promise<RunResult | undefined> {
  const { run: now, queue, status } = await run.session.state();
  const works = now?.id === run.id ? status === "running" : queue.some(({ runId }) => runId === run.id);
  return works ? undefined : door.results.of(run, SERVER_LIMITS.readMs);
}

function runEvents(call: Call<unknown>, run: Run, after: number, given: EventResponse = {}): Promise<Response> {
  const options = { children: call.query.get("children") === "1", live: call.query.get("live") !== "0" };
  return eventResponse(call, (signal) => behind(after, run.events({ ...options, signal })), given);
}

async function* behind(seq: number, events: AsyncIterable<Envelope>): AsyncGenerator<Envelope> {
  for await (const envelope of events)
    if (envelope.parent !== undefined || isLive(envelope.event) || envelope.event.seq > seq) yield envelope;
}

/** Whoever reads events gets them in the same answer. What may be refused of that is refused before anything is sent. */
async function sent(call: Call<unknown>, send: () => Promise<Run>): Promise<Response> {
  const reads = call.request.headers.get("accept")?.includes("text/event-stream") === true;
  if (!reads) {
    const run = await send();
    return json({ sessionId: run.session.id, agent: run.session.agent, runId: run.id, inputId: run.inputId }, 202);
  }
  const after = seqOf(cursorIn(call));
  const place: Place = takePlace(call);
  try {
    return await runEvents(call, await send(), after, { place });
  } catch (error) {
    place.giveBack();
    throw error;
  }
}

function sendOptions(
  { caller, request }: Call<unknown>,
  { input, outputSchema, ...options }: SendBody,
): { readonly input: string | readonly Part[]; readonly options: SendOptions } {
  const { ifBusy: _ifBusy, tags: _tags, ...operators } = options;
  refuseUntrusted(caller, operators);
  if (hasPattern(outputSchema)) refuseUntrusted(caller, { "a pattern in outputSchema": true });
  const parts = input as string | readonly Part[]; // what the schema let through is said by people
  if (typeof parts !== "string" && parts.some((part) => part.type === "file" && part.data.type === "blob"))
    refuseUntrusted(caller, { blob: true });
  const key = idempotencyKeyOf(request);
  const output = outputSchema === undefined ? {} : { output: jsonSchema<string>(outputSchema as Json) };
  return {
    input: parts,
    options: { ...options, ...output, ...(key !== undefined && { idempotencyKey: key }) } as SendOptions,
  };
}

/** A regular expression can take for ever, and nothing else is done meanwhile. */
function hasPattern(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  return Object.entries(schema).some(([name, value]) =>
    name === "pattern" && typeof value === "string" ? true : hasPattern(value),
  );
}

/** A run that was just sent may stand in the mailbox yet. Throws `input-invalid` when there is none of this id. */
async function runOf(call: Call<unknown>): Promise<Run> {
  const session = await sessionOf(call);
  const id = call.param("run");
  const now = id === "latest" || call.query.get("appear") === "0";
  const run = now ? await session.run(id === "latest" ? undefined : id) : await runInLog(session, id, call.door);
  if (run !== undefined) return run;
  throw new CapstanError("input-invalid", `There is no run ${JSON.stringify(id)} in this session`);
}

export async function runInLog(session: Session, id: string, { clock, closing }: Door): Promise<Run | undefined> {
  const until = clock.monotonic() + SERVER_LIMITS.runAppearsMs;
  for (let waitMs = 5; ; waitMs = Math.min(waitMs * 2, 250)) {
    const run = await session.run(id);
    if (run !== undefined || clock.monotonic() >= until) return run;
    await sleep(clock, waitMs, closing);
  }
}

/** What plugins wrote down for themselves stays here. */
function shown(result: RunResult): RunResult {
  return { ...result, hooks: result.hooks.filter(({ type }) => type === "decided") };
}

function defined<T extends object>(members: T): { readonly [Name in keyof T]: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    readonly [Name in keyof T]: Exclude<T[Name], undefined>;
  }; // only what is there
}
