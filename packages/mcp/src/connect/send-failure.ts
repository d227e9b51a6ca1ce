/** Whether a request reached its server: what provably did not may be sent again, nothing else may (G3). */

/** Thrown by a transport before a byte of the message was written. */
export class NotSent extends Error {}

/** Failures of the network before a connection existed. */
const BEFORE_CONNECTION = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH"]);

/** Looks through wrapped errors. An error that does not say so counts as sent. */
export function wasNotSent(error: unknown): boolean {
  for (let one = error, depth = 0; one instanceof Error && depth < 8; one = one.cause, depth += 1) {
    if (one instanceof NotSent) return true;
    if ("code" in one && typeof one.code === "string" && BEFORE_CONNECTION.has(one.code)) return true;
    if (one instanceof AggregateError) return one.errors.length > 0 && one.errors.every((inner) => wasNotSent(inner));
  }
  return false;
}
