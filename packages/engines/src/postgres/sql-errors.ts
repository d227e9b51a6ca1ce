/** What Postgres or the way to it refuses, as errors that the caller can act on. https://www.postgresql.org/docs/current/errcodes-appendix.html */

import { CapstanError, messageOf } from "@capstan/core";

/** A statement that the server refused. */
export class SqlError extends Error {
  /** SQLSTATE. */
  readonly state: string;
  constructor(state: string, cause: unknown) {
    super(messageOf(cause), { cause });
    this.state = state;
  }
}

/** The connection is gone or never came about; whether the last statement took effect is not known. */
export class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

/** `pg` threw this; everything but an answer of the server is a lost connection. */
export function fromDriver(error: unknown): SqlError | ConnectionLost {
  const state = stateOf(error);
  return state === undefined || ENDS_CONNECTION.test(state) ? new ConnectionLost(error) : new SqlError(state, error);
}

/** Connection exceptions, too many connections, shutdown, and sessions that the server ended because they slept. */
const ENDS_CONNECTION = /^(?:08|53300|57P0[1235]|25P0[34])/;
/** Serialization failure and deadlock: undone as a whole, and right the next time. */
const PASSING = /^40/;
/** What somebody gave wrongly: data, constraints, limits of a row. It hurts no other work of the transaction. */
const OWN_FAULT = /^(?:22|23|54)/;

export function isPassing(error: unknown): boolean {
  return error instanceof ConnectionLost || (error instanceof SqlError && PASSING.test(error.state));
}

/** Whether only the work that met this error fails, and what else is in its transaction may go on. */
export function isOwnFault(error: unknown): boolean {
  if (error instanceof ConnectionLost) return false;
  return !(error instanceof SqlError) || OWN_FAULT.test(error.state);
}

/** `place` names the store without its password. Errors of others pass unchanged. */
export function toStoreError(error: unknown, place: string): unknown {
  if (error instanceof ConnectionLost) return lost(error, place);
  if (!(error instanceof SqlError)) return error;
  const { state, message, cause } = error;
  if (state === "53100") {
    const text = `There is no space left for ${place}; free some and try again`;
    return new CapstanError("store-full", text, { cause, retryable: true });
  }
  if (state === "25006" || state === "42501") {
    const text = `${place} cannot be written (${message}); connect to the primary, as a role that may write`;
    return new CapstanError("store-readonly", text, { cause });
  }
  if (/^(?:XX|42P01|42703|3F000)/.test(state)) {
    const text = `${place} is damaged or no store of Capstan (${message}); restore it from a backup`;
    return new CapstanError("store-damaged", text, { cause });
  }
  if (/^(?:28|3D)/.test(state)) {
    const text = `${place} cannot be opened (${message}); check the user, password and database of its URL`;
    return new CapstanError("config-invalid", text, { cause });
  }
  const text = `${place} did not take the write (${message}); try again`;
  return new CapstanError("store-failed", text, { cause, retryable: !OWN_FAULT.test(state) });
}

function lost({ message, cause }: ConnectionLost, place: string): CapstanError {
  const text = `${place} cannot be reached (${message}); look whether it runs, then try again with the same key`;
  return new CapstanError("store-failed", text, { cause, retryable: true });
}

function stateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("severity" in error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
