/** Histories that people bring along: refused when no model would take them, so that every session that opens goes on. */

import { CapstanError } from "./errors.ts";
import type { Message } from "./message.ts";

/**
 * Throws `input-invalid` for the first thing that breaks the history: an id twice, an empty message, a call without its one
 * result in the message behind it, a result without its call.
 */
export function checkImported(messages: readonly Message[]): void {
  const ids = new Set<string>();
  let open: ReadonlySet<string> = new Set();
  for (const [index, { id, role, parts }] of messages.entries()) {
    const refuse = (what: string): never => {
      throw new CapstanError(
        "input-invalid",
        `Message ${index} of the history ${what}. Repair it first: toMessages of capstan/models/convert does`,
      );
    };
    if (ids.has(id)) refuse(`has the id ${JSON.stringify(id)} of another one`);
    ids.add(id);
    if (parts.length === 0) refuse("is empty");
    const results = parts.flatMap((part) => (part.type === "tool-result" ? [part.callId] : []));
    const unanswered = new Set(open);
    for (const callId of results)
      if (!unanswered.delete(callId)) refuse(`answers ${callId}, which nothing before it asks`);
    if (results.length > 0 && role !== "user") refuse("gives results, but is not the user's");
    const [left] = unanswered;
    if (left !== undefined) refuse(`does not answer the call ${left} before it`);
    const calls = parts.flatMap((part) => (part.type === "tool-call" && part.by !== "provider" ? [part.callId] : []));
    if (calls.length > 0 && role !== "assistant") refuse("calls a tool, but is not the assistant's");
    open = new Set(calls);
    if (open.size < calls.length) refuse("makes the same call twice");
  }
  const [left] = open;
  if (left === undefined) return;
  throw new CapstanError(
    "input-invalid",
    `The history ends with the call ${left} and no result for it. Repair it first: toMessages of capstan/models/convert does`,
  );
}
