/** Who a request is of: what `authorize` found out, and what they may do. */

import { type Actor, CapstanError, type Clock } from "@capstan/core";
import { SERVER_LIMITS } from "../server-limits.ts";

export type Caller = {
  readonly id: string;
  /** Callers of one tenant share their sessions and see no others. Default: a tenant of their own, `caller/<id>`. */
  readonly tenant?: string;
  /**
   * May also choose what is otherwise the operator's: folder, mode, model, limits, instructions, tools and imported
   * messages; without a tenant, sees every session. Default false.
   */
  readonly trusted?: boolean;
};
/** Nothing for somebody unknown. Called for every request, before its body is read. */
export type Authorize = (request: Request) => Caller | null | undefined | Promise<Caller | null | undefined>;

/** Of somebody without a tenant; begins as no tenant that is named may, or an id could be chosen that is one. */
const OWN_TENANT = "caller/";

export function actorOf({ id, tenant, trusted }: Caller, door: string): Actor {
  const own = tenant ?? (trusted === true ? undefined : `${OWN_TENANT}${id}`);
  return { id, door, ...(own !== undefined && { tenant: own }) };
}

/** `undefined` for somebody unknown. Throws `timeout` when `authorize` does not answer. */
export async function callerOf(authorize: Authorize, request: Request, clock: Clock): Promise<Caller | undefined> {
  const caller = await inTime(clock, SERVER_LIMITS.authorizeMs, "authorize", async () => authorize(request));
  if (typeof caller !== "object" || caller === null || typeof caller.id !== "string" || caller.id === "")
    return undefined;
  const tenant: unknown = caller.tenant ?? "none";
  if (typeof tenant === "string" && tenant !== "" && !tenant.startsWith(OWN_TENANT)) return caller;
  throw new Error(`authorize gave a tenant that is none: it must be a text that does not begin with ${OWN_TENANT}`);
}

/** Throws `permission-denied` unless the caller is trusted, for members that are given. */
export function refuseUntrusted(caller: Caller, given: { readonly [member: string]: unknown }): void {
  if (caller.trusted === true) return;
  const [first] = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (first !== undefined)
    throw new CapstanError("permission-denied", `${first} is chosen by the operator of this server; leave it out`);
}

/** Throws `timeout`. What comes later is ignored. */
export async function inTime<T>(clock: Clock, ms: number, what: string, work: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(
    ms,
    () => late.reject(new CapstanError("timeout", `${what} took longer than ${ms} ms`, { retryable: true })),
    { background: true },
  );
  const working = work();
  working.catch(() => undefined); // nobody listens to what was left
  try {
    return await Promise.race([working, late.promise]);
  } finally {
    cancel();
  }
}
