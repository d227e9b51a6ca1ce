/** What went wrong, as the error of a JSON-RPC answer. */

import { RequestError } from "@agentclientprotocol/sdk";
import { CapstanError, type ErrorCode, messageOf } from "@capstan/core";

/** Errors that the client can put right by asking otherwise. */
const WRONG_PARAMS: readonly ErrorCode[] = [
  "input-invalid",
  "input-too-large",
  "model-unknown",
  "model-key-missing",
  "path-invalid",
  "usage",
  "workspace-missing",
];

/** `code` of a `CapstanError` is in the error's data. */
export function rpcError(error: unknown, sessionId?: string): RequestError {
  if (error instanceof RequestError) return error;
  if (CapstanError.is(error, "session-not-found") && sessionId !== undefined)
    return RequestError.sessionNotFound(sessionId);
  const data = CapstanError.is(error) ? { code: error.code } : undefined;
  const message = messageOf(error);
  if (CapstanError.is(error) && WRONG_PARAMS.includes(error.code)) return RequestError.invalidParams(data, message);
  return RequestError.internalError(data, message);
}

export function invalidParams(message: string): RequestError {
  return RequestError.invalidParams(undefined, message);
}
