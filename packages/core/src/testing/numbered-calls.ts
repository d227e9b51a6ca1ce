/** Messages as a recording holds them: without ids, calls by their number. */

import type { Json } from "../words/json.ts";
import type { Message, Part } from "../words/message.ts";
import type { RecordedMessage } from "./recording.ts";

/** Numbers the calls of one session as they appear. */
export function callNumbers(): (callId: string) => string {
  const numbers = new Map<string, string>();
  return (callId) => {
    const known = numbers.get(callId) ?? `#${numbers.size + 1}`;
    numbers.set(callId, known);
    return known;
  };
}

export function recordedMessage({ role, parts }: Message, numberOf: (callId: string) => string): RecordedMessage {
  return {
    role,
    parts: parts.map((part) => ("callId" in part ? { ...part, callId: numberOf(part.callId) } : part) as Part), // the same kind
  };
}

/** How many messages both begin with. */
export function sharedMessages(before: readonly RecordedMessage[], now: readonly RecordedMessage[]): number {
  let shared = 0;
  while (shared < before.length && shared < now.length && same(before[shared], now[shared])) shared += 1;
  return shared;
}

function same(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left as Json) === JSON.stringify(right as Json);
}
