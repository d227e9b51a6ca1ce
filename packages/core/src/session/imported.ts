/** Histories that people bring along: refused when no model would take them, so that every session that opens goes on. */

import { CapstanError } from "../words/errors.ts";
import type { Message, Part } from "../words/message.ts";
import { isPart } from "../words/model-part.ts";
import { membersOf } from "../words/output-shape.ts";
import { serverOf } from "../words/tool-name.ts";

/** What no provider takes as the name of a call. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/; // one of an MCP server goes out by another
const ROLES: readonly Message["role"][] = ["user", "assistant", "system"];
/** Parts that only an answer has. */
const ANSWERS: readonly Part["type"][] = ["tool-call", "reasoning", "source"];

/**
 * Throws `input-invalid` for the first thing that breaks the history: what is no message, an id twice, an empty message, a
 * part in the wrong place, a call without its one result in the message behind it, a result without its call, an answer
 * before any question.
 */
export function checkImported(messages: readonly Message[]): void {
  if (!Array.isArray(messages)) throw broken("The history is no list of messages");
  const ids = new Set<string>();
  let open: ReadonlySet<string> = new Set();
  let asked = false;
  for (const [index, message] of messages.entries()) {
    const problem = malformed(message) ?? misplaced(message) ?? unpaired(message, open);
    if (problem !== undefined) throw broken(`Message ${index} of the history ${problem}`);
    const { id, role, parts } = message;
    if (ids.has(id)) throw broken(`Message ${index} of the history has the id ${JSON.stringify(id)} of another one`);
    ids.add(id);
    if (role === "assistant" && !asked) throw broken(`Message ${index} of the history answers before anybody asked`);
    asked ||= parts.some(isSaid);
    open = new Set(callIds(parts));
    if (open.size < callIds(parts).length) throw broken(`Message ${index} of the history makes the same call twice`);
  }
  const [left] = open;
  if (left !== undefined) throw broken(`The history ends with the call ${left} and no result for it`);
}

function broken(what: string): CapstanError {
  return new CapstanError("input-invalid", `${what}. Repair it first: toMessages of capstan/models/convert does`);
}

/** It may come from a file or a client, whatever its type says. */
function malformed(message: unknown): string | undefined {
  const { id, role, parts, labels = [] } = membersOf(message) ?? {};
  if (typeof id !== "string" || id === "" || !ROLES.some((known) => known === role)) return "has no id or no role";
  if (!Array.isArray(labels) || !labels.every((label) => typeof label === "string"))
    return "has labels that are no texts";
  if (!Array.isArray(parts) || !parts.every(isImportedPart)) return "has parts that are none";
  return parts.length === 0 ? "is empty" : undefined;
}

function isImportedPart(part: unknown): boolean {
  return isPart(part) && (part.type !== "tool-call" || typeof part.callId === "string");
}

function misplaced({ role, parts }: Message): string | undefined {
  for (const part of parts) {
    if (part.type === "tool-call" && !NAME.test(part.name) && serverOf(part.name) === undefined)
      return `calls a tool by a name that none can have`;
    if (role !== "assistant" && ANSWERS.includes(part.type)) return `has a ${part.type}, but is not the assistant's`;
    if (role !== "user" && part.type === "tool-result") return "gives results, but is not the user's";
  }
  return undefined;
}

/** `open`: the calls of the message before. */
function unpaired({ parts }: Message, open: ReadonlySet<string>): string | undefined {
  const unanswered = new Set(open);
  for (const part of parts) {
    if (part.type === "tool-result" && !unanswered.delete(part.callId))
      return `answers ${part.callId}, which nothing before it asks`;
  }
  const [left] = unanswered;
  return left === undefined ? undefined : `does not answer the call ${left} before it`;
}

function callIds(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) => (part.type === "tool-call" && part.by !== "provider" ? [part.callId] : []));
}

function isSaid(part: Part): boolean {
  return part.type === "file" || (part.type === "text" && part.text.trim() !== "");
}
