/** The one error class, with a closed list of codes. Every code is explained in docs/errors.md. */

import type { Problem } from "./event.ts";
import { LIMITS } from "./limits.ts";

export const ERROR_CODES = [
  "aborted",
  "agent-invalid",
  "agent-unknown",
  "blob-missing",
  "blob-too-large",
  "closed",
  "compaction-failed",
  "config-invalid",
  "cursor-invalid",
  "file-changed",
  "file-too-large",
  "flow-diverged",
  "hook-failed",
  "idempotency-conflict",
  "input-invalid",
  "input-too-large",
  "interrupted",
  "limit-reached",
  "lost-ownership",
  "mcp-failed",
  "mcp-login-needed",
  "model-auth",
  "model-billing",
  "model-context-exceeded",
  "model-cut",
  "model-failed",
  "model-invalid-request",
  "model-key-missing",
  "model-network",
  "model-not-found",
  "model-overloaded",
  "model-protocol",
  "model-rate-limited",
  "model-refused",
  "model-timeout",
  "model-unknown",
  "node-too-old",
  "not-text",
  "output-invalid",
  "path-invalid",
  "path-not-found",
  "path-outside",
  "path-special",
  "permission-denied",
  "plugin-invalid",
  "price-unknown",
  "process-failed",
  "request-closed",
  "request-invalid",
  "rule-invalid",
  "run-failed",
  "run-waiting",
  "sandbox-unavailable",
  "server-unreachable",
  "session-busy",
  "session-damaged",
  "session-not-found",
  "store-conflict",
  "store-damaged",
  "store-failed",
  "store-full",
  "store-newer",
  "store-readonly",
  "timeout",
  "tool-failed",
  "tool-invalid",
  "usage",
  "workspace-missing",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

const BRAND = Symbol.for("capstan.error");

export type ErrorOptions = {
  readonly cause?: unknown;
  /** Whether the same request may succeed later without a change. Default false. */
  readonly retryable?: boolean;
  readonly provider?: string;
  /** HTTP status of a provider's answer. */
  readonly status?: number;
  /** How long the other side asked to wait. */
  readonly retryAfterMs?: number;
};

/** What the caller can put right. `message` says what happened and what to do; callers branch on `code`. */
export class CapstanError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  declare readonly provider?: string;
  declare readonly status?: number;
  declare readonly retryAfterMs?: number;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "CapstanError";
    this.code = code;
    this.retryable = options.retryable ?? false;
    if (options.provider !== undefined) this.provider = options.provider;
    if (options.status !== undefined) this.status = options.status;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Works across two copies of this package. Without codes: any `CapstanError`. */
  static is(error: unknown, ...codes: readonly ErrorCode[]): error is CapstanError {
    if (typeof error !== "object" || error === null || !(BRAND in error)) return false;
    return codes.length === 0 || codes.includes((error as unknown as CapstanError).code); // the brand is set only by the constructor
  }
}

/** An error as data, for facts and wires. Foreign errors keep their message only. */
export function toProblem(error: unknown): Problem {
  if (CapstanError.is(error)) {
    return {
      code: error.code,
      message: messageOf(error),
      retryable: error.retryable,
      ...(error.provider !== undefined && { provider: error.provider }),
      ...(error.status !== undefined && { status: error.status }),
    };
  }
  return { code: "run-failed", message: messageOf(error), retryable: false };
}

/** Whether code of others gave a promise where it was to give a value; nobody will wait for it, so its failure is no news. */
export function leftAlone(value: unknown): boolean {
  if (!(value instanceof Promise)) return false;
  value.catch(() => undefined);
  return true;
}

/** The same promise for code of others, which may look at it late or never: what it forgot must not end the process. */
export function forgettable<T>(promise: Promise<T>): Promise<T> {
  leftAlone(promise);
  return promise;
}

/** Always a text, and not a long one: whoever threw it may have thrown anything. */
export function messageOf(error: unknown): string {
  let message: string;
  try {
    message = String(error instanceof Error ? error.message : error);
  } catch {
    return "an error that cannot be shown";
  }
  const left = message.length - LIMITS.errorMessage;
  return left <= 0
    ? message
    : `${message.slice(0, LIMITS.errorMessage).toWellFormed()} [... ${left} characters left out ...]`;
}
