/** What became of one attempt to call a tool, as plain data: it is recorded as the value of a step. */

import { CapstanError, type Json, messageOf } from "@capstan/core";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { Connection, RemoteCall } from "../connect/connection.ts";
import { isUnauthorized } from "../connect/connection.ts";
import { pageOf } from "../connect/answer-requests.ts";
import { TimeOver } from "../connect/deadline.ts";
import { wasNotSent } from "../connect/send-failure.ts";
import type { McpService } from "../connect/service.ts";
import { MCP_LIMITS } from "../limits.ts";
import { definitionHash } from "./approved-definitions.ts";
import { shownError } from "../visible-text.ts";

export type CallOutcome =
  | { readonly type: "answered"; readonly result: Json }
  /** The server asks something first; the call is to be sent again with the answers. */
  | { readonly type: "asked"; readonly requests: { readonly [key: string]: Json }; readonly state?: string }
  /** The server wants pages opened before it takes the call. */
  | { readonly type: "pages"; readonly pages: readonly { readonly message: string; readonly url: string }[] }
  /** The server refused, or could not be reached: nothing happened. `again`: nothing was sent, another try may succeed. */
  | { readonly type: "failed"; readonly message: string; readonly again: boolean }
  /** The connection broke or fell silent after the call was sent: it may have happened. */
  | { readonly type: "broken"; readonly message: string };

/** What was permitted: another definition under the same name is another tool (G16). */
type PermittedCall = RemoteCall & { readonly definition?: string };

/** One attempt. Throws only when `call.signal` aborts. */
export async function attemptCall(service: McpService, call: PermittedCall): Promise<CallOutcome> {
  let connection: Connection;
  try {
    connection = await service.ready(call.signal);
  } catch (error) {
    call.signal.throwIfAborted();
    return { type: "failed", message: shownError(messageOf(error), MCP_LIMITS.errorChars), again: false }; // `ready` has tried often enough
  }
  const offered = service.tools.find(({ name }) => name === call.name);
  if (call.definition !== undefined && (offered === undefined || definitionHash(offered) !== call.definition)) {
    const message =
      "the tool was changed or taken away since the call was permitted; look at it again before you call it";
    return { type: "failed", message, again: false };
  }
  try {
    return answered(await connection.call(call));
  } catch (error) {
    call.signal.throwIfAborted();
    return failureOf(error, connection);
  }
}

function answered(result: CallToolResult): CallOutcome {
  const raw = result as unknown as { readonly [name: string]: Json }; // JSON of the wire
  if (raw["resultType"] !== "input_required") return { type: "answered", result: raw };
  const requests = raw["inputRequests"];
  const state = raw["requestState"];
  const asked = typeof requests === "object" && requests !== null && !Array.isArray(requests) ? requests : {};
  return {
    type: "asked",
    requests: asked as { readonly [key: string]: Json },
    ...(typeof state === "string" && { state }),
  };
}

/** JSON-RPC code of a call that waits for pages to be opened, in revisions before 2026-07-28. */
const PAGES_FIRST = -32042;

function failureOf(error: unknown, connection: Connection): CallOutcome {
  const message = shownError(messageOf(error), MCP_LIMITS.errorChars);
  if (wasNotSent(error)) return { type: "failed", message, again: true };
  if (CapstanError.is(error)) return { type: "failed", message, again: false };
  if (isUnauthorized(error)) return { type: "failed", message: "the server wants a sign-in", again: false };
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  if (code === PAGES_FIRST) return { type: "pages", pages: pagesOf(error) };
  if (typeof code === "number" && !(error instanceof TimeOver)) return { type: "failed", message, again: false }; // the server's own word
  const status = statusOf(error);
  if (status !== undefined && status >= 400 && status < 500 && status !== 408)
    return { type: "failed", message, again: false };
  return { type: "broken", message: connection.isEnded ? "the connection ended" : message };
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("data" in error)) return undefined;
  const status = (error.data as { readonly status?: unknown } | undefined)?.status;
  return typeof status === "number" ? status : undefined;
}

function pagesOf(error: unknown): readonly { readonly message: string; readonly url: string }[] {
  const data = (error as { readonly data?: { readonly elicitations?: unknown } }).data;
  const list = Array.isArray(data?.elicitations) ? (data.elicitations as readonly unknown[]) : [];
  return list.slice(0, 4).flatMap((one) => {
    const { message, url } = (typeof one === "object" && one !== null ? one : {}) as {
      readonly message?: unknown;
      readonly url?: unknown;
    };
    const page = pageOf(url);
    return page === undefined ? [] : [{ message: typeof message === "string" ? message : "", url: page }];
  });
}
