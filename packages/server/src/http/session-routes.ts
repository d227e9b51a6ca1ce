/** Sessions over HTTP: made, listed, read, changed, forked and removed. */

import { type Answer, CapstanError, type Runtime, type Session, type SessionFilter } from "@capstan/core";
import type { OpenSession, SessionStatus, SessionView } from "@capstan/core";
import { WIRE_LIMITS } from "@capstan/wire";
import { SERVER_LIMITS } from "../server-limits.ts";
import { refuseUntrusted } from "./caller.ts";
import { cursorIn } from "./cursor.ts";
import { json } from "./errors.ts";
import { eventResponse } from "./event-response.ts";
import { type Call, type Route, route } from "./route.ts";
import { refuseOther } from "./same-opening.ts";
import {
  createBody,
  type CreateBody,
  forkBody,
  interruptBody,
  respondBody,
  updateBody,
  withdrawBody,
} from "./schemas.ts";

export const sessionRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/sessions",
    summary: "Opens a session, or the one that `key` names.",
    body: createBody,
    run: async (call) => {
      const idempotencyKey = idempotencyKeyOf(call.request);
      const key = call.body.key ?? (idempotencyKey === undefined ? undefined : `create/${idempotencyKey}`);
      const session = await openSession(call, { ...call.body, ...(key !== undefined && { key }) });
      if (idempotencyKey !== undefined && call.body.key === undefined)
        await refuseOther(session, idempotencyKey, call.body);
      return json(named(session), 201);
    },
  }),
  route({
    method: "get",
    path: "/sessions",
    summary: "Lists sessions, newest first.",
    query: ["status", "agent", "key", "parent", "before", "limit"],
    run: async ({ runtime, query }) => json({ sessions: await runtime.sessions(await filterOf(runtime, query)) }),
  }),
  route({
    method: "get",
    path: "/sessions/:id",
    summary: "Status, queue, open requests and usage of a session.",
    run: async (call) => {
      const session = await sessionOf(call);
      return json({ ...named(session), state: shownState(await session.state()) });
    },
  }),
  route({
    method: "patch",
    path: "/sessions/:id",
    summary: "Changes title, metadata, mode or model.",
    body: updateBody,
    run: async (call) => {
      const { mode, model } = call.body;
      refuseUntrusted(call.caller, { mode, model });
      await (await sessionOf(call)).update(call.body);
      return noContent();
    },
  }),
  route({
    method: "delete",
    path: "/sessions/:id",
    summary: "Removes a session with all that belongs to it.",
    run: async (call) => {
      await (await sessionOf(call)).remove();
      return noContent();
    },
  }),
  route({
    method: "get",
    path: "/sessions/:id/messages",
    summary: "Messages, oldest first; the newest `limit` before message `before`.",
    query: ["before", "limit"],
    run: async (call) => {
      const limit = integer(call.query, "limit", SERVER_LIMITS.messages) ?? SERVER_LIMITS.messages;
      const before = call.query.get("before");
      const session = await sessionOf(call);
      const messages = limit === 0 ? [] : await session.messages({ limit, ...(before !== null && { before }) });
      return json({ messages });
    },
  }),
  route({
    method: "get",
    path: "/sessions/:id/events",
    summary: "Events as they come, after the cursor `after` or the header Last-Event-ID.",
    query: ["after", "children", "live", "format"],
    streams: true,
    run: async (call) => {
      const session = await sessionOf(call);
      const given = cursorIn(call);
      const after = given === "end" ? String((await session.state()).head) : given;
      const following = {
        children: call.query.get("children") === "1",
        live: call.query.get("live") !== "0",
        ...(after !== undefined && { after }),
      };
      const standing = after === undefined ? {} : { after };
      return eventResponse(call, (signal) => session.events({ ...following, signal }), standing);
    },
  }),
  route({
    method: "post",
    path: "/sessions/:id/respond",
    summary: "Answers an open request.",
    body: respondBody,
    run: async (call) => {
      const { requestId } = call.body;
      const answer = call.body.answer as unknown as Answer; // core checks that it fits
      if ("remember" in answer && answer.remember !== undefined && answer.remember !== "session")
        refuseUntrusted(call.caller, { remember: answer.remember });
      await (await sessionOf(call)).respond(requestId, answer);
      return noContent();
    },
  }),
  route({
    method: "post",
    path: "/sessions/:id/interrupt",
    summary: "Ends the run of now, or the one that is named.",
    body: interruptBody,
    run: async (call) => {
      await (await sessionOf(call)).interrupt(call.body.runId);
      return noContent();
    },
  }),
  route({
    method: "post",
    path: "/sessions/:id/withdraw",
    summary: "Takes an input back that no run has taken up.",
    body: withdrawBody,
    run: async (call) => {
      await (await sessionOf(call)).withdraw(call.body.inputId);
      return noContent();
    },
  }),
  route({
    method: "post",
    path: "/sessions/:id/fork",
    summary: "A new session with what was said and done, up to fact `at`.",
    body: forkBody,
    run: async (call) => json(named(await (await sessionOf(call)).fork(call.body)), 201),
  }),
  route({
    method: "get",
    path: "/sessions/:id/idle",
    summary: "Waits up to `waitMs` until no run is left and nothing is queued.",
    query: ["waitMs"],
    run: async (call) => {
      const session = await sessionOf(call);
      const waitMs = integer(call.query, "waitMs", SERVER_LIMITS.waitMs) ?? 0;
      const running = await session.isRunning();
      if (waitMs === 0) return json({ running });
      const signal = AbortSignal.any([AbortSignal.timeout(waitMs), call.door.closing]);
      const idle = await session.waitForIdle({ signal }).then(
        () => true,
        (error: unknown) => {
          if (!signal.aborted) throw error;
          return false;
        },
      );
      return json({ running: idle ? false : running, idle });
    },
  }),
  route({
    method: "get",
    path: "/requests",
    summary: "Every open question of every session.",
    query: ["status", "agent", "key", "parent", "before", "limit"],
    run: async ({ runtime, query }) =>
      json({
        requests: await runtime.requests({
          ...(await filterOf(runtime, query)),
          limit: limitOf(query, SERVER_LIMITS.mostListed),
        }),
      }),
  }),
];

export function noContent(): Response {
  return new Response(null, { status: 204 });
}

export function sessionOf({ runtime, param }: Pick<Call<unknown>, "runtime" | "param">): Promise<Session> {
  return runtime.session(param("id"));
}

function named({ id, key, agent }: Session): { readonly id: string; readonly agent: string } {
  return { id, agent, ...(key !== undefined && { key }) };
}

/** What the operator decides is taken from callers that are trusted, and from nobody else. */
export function openingOf(call: Pick<Call<unknown>, "caller" | "door">, body: CreateBody): OpenSession<string> {
  const { mode, workspace = call.door.workspace, messages } = body;
  refuseUntrusted(call.caller, { mode, workspace: body.workspace, messages });
  return { ...body, ...(workspace !== undefined && { workspace }) } as unknown as OpenSession<string>; // core checks the messages
}

export function openSession(
  call: Pick<Call<unknown>, "caller" | "door"> & { readonly runtime: Runtime },
  body: CreateBody,
): Promise<Session> {
  return call.runtime.session(openingOf(call, body));
}

/** Without what agents and plugins keep to themselves. */
function shownState({ run, ...state }: SessionView): SessionView {
  return {
    ...state,
    instructions: {},
    ...(run !== undefined && { run: { ...run, steps: {}, stepFailures: {}, stepIntents: {} } }),
  };
}

const STATUSES: readonly SessionStatus[] = ["idle", "running", "waiting", "parked", "quarantined"];

/** Throws `session-not-found` for a `before` that the caller does not see. */
async function filterOf(runtime: Runtime, query: URLSearchParams): Promise<SessionFilter> {
  const status = query.get("status");
  const known = STATUSES.find((one) => one === status);
  if (status !== null && known === undefined)
    throw new CapstanError("input-invalid", `status must be ${STATUSES.join(", ")}`);
  const texts = ["agent", "key", "parent", "before"].flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const before = query.get("before");
  if (before !== null) await runtime.session(before); // the store would tell an unknown one from another tenant's
  return { ...Object.fromEntries(texts), ...(known !== undefined && { status: known }), limit: limitOf(query) };
}

function limitOf(query: URLSearchParams, otherwise: number = SERVER_LIMITS.listed): number {
  return integer(query, "limit", SERVER_LIMITS.mostListed) ?? otherwise;
}

/** Throws `input-invalid` for one that is empty or too long. */
export function idempotencyKeyOf(request: Request): string | undefined {
  const key = request.headers.get("idempotency-key");
  if (key === null) return undefined;
  if (key !== "" && key.length <= WIRE_LIMITS.idChars) return key;
  throw new CapstanError("input-invalid", `Idempotency-Key must have 1 to ${WIRE_LIMITS.idChars} characters`);
}

/** A whole number from 0; more than `most` is `most`. Throws `input-invalid`. */
export function integer(query: URLSearchParams, name: string, most: number): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new CapstanError("input-invalid", `${name} must be a whole number`);
  return Math.min(Number(text), most);
}
