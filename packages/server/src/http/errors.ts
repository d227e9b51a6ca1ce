/** Errors as HTTP answers: a status, and `{ error: { code, message, retryable } }`. */

import { CapstanError, type ErrorCode, type Problem, toProblem } from "@capstan/core";

const STATUS: { readonly [code in ErrorCode]?: number } = {
  aborted: 400,
  "agent-unknown": 404,
  "blob-missing": 404,
  "blob-too-large": 413,
  closed: 503,
  "cursor-invalid": 400,
  "idempotency-conflict": 409,
  "input-invalid": 400,
  "input-too-large": 413,
  "limit-reached": 429,
  "path-outside": 403,
  "permission-denied": 403,
  "request-closed": 409,
  "request-invalid": 400,
  "run-waiting": 409,
  "session-busy": 409,
  "session-damaged": 500,
  "session-not-found": 404,
  "store-full": 507,
  timeout: 504,
  usage: 400,
  "workspace-missing": 400,
};

/** What of an error a client is told: all of one that has a code, of any other only that there was one. */
export function problemOf(error: unknown): Problem {
  if (CapstanError.is(error)) return toProblem(error);
  return { code: "run-failed", message: "The server failed; its operator can see why", retryable: false };
}

function statusOf(error: unknown): number {
  return CapstanError.is(error) ? (STATUS[error.code] ?? 500) : 500;
}

export function errorResponse(error: unknown, status: number = statusOf(error)): Response {
  const headers: Record<string, string> = status === 429 || status === 503 ? { "retry-after": "1" } : {};
  return json({ error: problemOf(error) }, status, headers);
}

export function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
  });
}
