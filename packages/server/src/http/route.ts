/** One route of the HTTP door as data: where, what it takes, and what it does. */

import type { Clock, Runtime } from "@capstan/core";
import type { ZodType } from "zod";
import type { Caller } from "./caller.ts";
import type { SharedResults } from "./shared-results.ts";

export type Door = {
  readonly clock: Clock;
  /** Folder of new sessions for which nobody chose one. */
  readonly workspace?: string;
  readonly results: SharedResults;
  /** Names of agents that a person is offered. */
  readonly agents: readonly string[];
  /** Bytes that logs name by hash. */
  readonly blob?: (hash: string) => Promise<Uint8Array>;
  /** Aborts when the door closes. */
  readonly closing: AbortSignal;
  /** A place for one more stream; give it back. Throws `limit-reached`. */
  takeStream(caller: Caller): () => void;
};

export type Call<Body> = {
  readonly request: Request;
  readonly query: URLSearchParams;
  /** A named part of the path. */
  readonly param: (name: string) => string;
  readonly body: Body;
  readonly caller: Caller;
  /** As the caller: other tenants' sessions are not there. */
  readonly runtime: Runtime;
  readonly door: Door;
};

export type Method = "get" | "post" | "patch" | "delete";
export type Route = {
  readonly method: Method;
  /** With `:name` for parts that vary. */
  readonly path: string;
  readonly summary: string;
  readonly query?: readonly string[];
  readonly body?: ZodType;
  /** The answer is a stream of events. */
  readonly streams?: boolean;
  readonly run: (call: Call<unknown>) => Promise<Response>;
};

type RouteOf<Body> = Omit<Route, "body" | "run"> & {
  readonly body?: ZodType<Body>;
  readonly run: (call: Call<Body>) => Promise<Response>;
};

/** Infers what the body is from its schema. */
export function route<Body = undefined>(definition: RouteOf<Body>): Route {
  return definition as unknown as Route; // the handler is only given what its schema let through
}
