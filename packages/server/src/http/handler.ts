/** The HTTP door as a fetch handler: who may come in, which route it is, and what went wrong as an answer. */

import { CapstanError, type Clock, type Runtime, systemClock } from "@capstan/core";
import { Hono } from "hono";
import { z } from "zod";
import { SERVER_LIMITS } from "../server-limits.ts";
import { bodyBudget } from "./body-budget.ts";
import { readBody } from "./body.ts";
import { actorOf, type Authorize, type Caller, callerOf } from "./caller.ts";
import { chatRoutes } from "./chat-routes.ts";
import { errorResponse, json } from "./errors.ts";
import { type Guard, guard, type GuardOptions } from "./guard.ts";
import { inspectRoutes } from "./inspect-routes.ts";
import { openApi } from "./openapi.ts";
import type { Door, Route } from "./route.ts";
import { runRoutes } from "./run-routes.ts";
import { sessionRoutes } from "./session-routes.ts";
import { sharedResults } from "./shared-results.ts";

export type HttpOptions = GuardOptions & {
  /** Opened at the first request when it is a function. Closed by whoever opened it. */
  readonly runtime: Runtime | (() => Runtime | Promise<Runtime>);
  /** Who a request is of. Nothing is done for one of nobody. */
  readonly authorize: Authorize;
  /** Where the routes begin, such as `/api/agents`. Default the root. */
  readonly basePath?: string;
  /** Folder of new sessions, unless a trusted caller chose another. */
  readonly workspace?: string;
  /** Answers what needs no caller, such as the files of a console. Asked first; `undefined` leaves the request to the routes. */
  readonly pages?: (request: Request) => Promise<Response | undefined>;
  /** Names of agents that a person is offered, the usual one first. */
  readonly agents?: readonly string[];
  /** Reads bytes that logs name by hash, from the store of the runtime: `engine.blob`. Without it no route gives them. */
  readonly blob?: (hash: string) => Promise<Uint8Array>;
  /** Told of what no client is told: errors without a code. Default a warning of the process. */
  readonly onError?: (error: unknown) => void;
  readonly clock?: Clock;
};
export type HttpHandle = {
  (request: Request): Promise<Response>;
  /** Ends every stream, so that readers come back to another process, and refuses what comes. Cancels no run. */
  close(): void;
};

type Env = { Bindings: { readonly caller: Caller } };
const ROUTES: readonly Route[] = [...sessionRoutes, ...runRoutes, ...chatRoutes, ...inspectRoutes];
const anything = z.unknown();

export function httpHandler(options: HttpOptions): HttpHandle {
  const { authorize, clock = systemClock, basePath = "", onError = warn } = options;
  const closing = new AbortController();
  const entrance = guard(options);
  const runtime = opened(options.runtime);
  const door = doorOf(options, clock, closing.signal);
  const base = `/${basePath}`.replaceAll(/\/+/g, "/").replace(/\/$/, "");
  const app = appOf(base, door, runtime, onError);
  const admit = async (request: Request): Promise<Response> => {
    const page = await options.pages?.(request);
    if (page !== undefined) return page;
    if (closing.signal.aborted)
      throw new CapstanError("closed", "This server is closing; try again", { retryable: true });
    if (request.method === "HEAD") return new Response(null, { status: 405 }); // a stream that nobody reads
    const caller = await callerOf(authorize, request, clock);
    if (caller !== undefined) return app.fetch(request, { caller });
    const who = new CapstanError("permission-denied", "Say who you are: this server acts for nobody unknown");
    return errorResponse(who, 401);
  };
  const handle = async (request: Request): Promise<Response> => {
    const response =
      entrance.check(request) ?? (await admit(request).catch((error: unknown) => failed(error, onError)));
    return opening(entrance, request, response);
  };
  return Object.assign(handle, {
    close: () => closing.abort(new CapstanError("closed", "This server is closing; try again", { retryable: true })),
  });
}

function opening(entrance: Guard, request: Request, response: Response): Response {
  entrance.open(request, response);
  response.headers.set("x-content-type-options", "nosniff");
  return response;
}

function appOf(
  base: string,
  door: Door,
  runtime: () => Promise<Runtime>,
  onError: (error: unknown) => void,
): Hono<Env> {
  const app = new Hono<Env>();
  const bodies = bodyBudget(SERVER_LIMITS.bodiesBytes);
  for (const route of ROUTES) {
    app.on(route.method.toUpperCase(), `${base}${route.path}`, async (context) => {
      const { caller } = context.env;
      const request = context.req.raw;
      const share = bodies();
      try {
        const body =
          route.method === "get" || route.method === "delete"
            ? undefined
            : await readBody<unknown>(request, route.body ?? anything, { clock: door.clock, share });
        const call = {
          request,
          query: new URL(request.url).searchParams,
          param: (name: string) => context.req.param(name) ?? "",
          body,
          caller,
          runtime: (await runtime()).as(actorOf(caller, "http")),
          door,
        };
        return await route.run(call);
      } finally {
        share.giveBack();
      }
    });
  }
  app.get(`${base}/openapi.json`, () => json(openApi(ROUTES, base)));
  app.notFound(() => errorResponse(new CapstanError("usage", "There is no such route here"), 404));
  app.onError((error) => failed(error, onError));
  return app;
}

function failed(error: unknown, onError: (error: unknown) => void): Response {
  if (!CapstanError.is(error)) onError(error);
  return errorResponse(error);
}

function doorOf({ workspace, agents = [], blob }: HttpOptions, clock: Clock, closing: AbortSignal): Door {
  const streams = new Map<string, number>();
  let all = 0;
  return {
    clock,
    closing,
    results: sharedResults(clock),
    agents,
    ...(blob !== undefined && { blob }),
    ...(workspace !== undefined && { workspace }),
    takeStream(caller) {
      const name = JSON.stringify([caller.tenant, caller.id]);
      const own = streams.get(name) ?? 0;
      if (all >= SERVER_LIMITS.streams || own >= SERVER_LIMITS.streamsOfCaller)
        throw new CapstanError("limit-reached", "There are too many streams; close some", { retryable: true });
      all += 1;
      streams.set(name, own + 1);
      let given = false;
      return () => {
        if (given) return;
        given = true;
        all -= 1;
        const left = (streams.get(name) ?? 1) - 1;
        if (left === 0) streams.delete(name);
        else streams.set(name, left);
      };
    },
  };
}

/** Opened once; a failure is tried again by the next request. */
function opened(given: HttpOptions["runtime"]): () => Promise<Runtime> {
  if (typeof given !== "function") return () => Promise.resolve(given);
  let opening: Promise<Runtime> | undefined;
  return () => {
    opening ??= Promise.resolve(given()).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
