/** What `input` hooks made of a message, checked before the log depends on it. */

import { isSaid, isTexts } from "../ports/check-input.ts";
import type { InputOutcome } from "../ports/plugin.ts";
import { CapstanError, messageOf } from "../words/errors.ts";
import { toJson } from "../words/json.ts";
import type { Message, Part } from "../words/message.ts";
import { membersOf } from "../words/output-shape.ts";

/** As the log can keep it. Throws `hook-failed` for what is no outcome, an `Error` for what is no JSON. */
export function checkedOutcome(given: InputOutcome, message: Message): InputOutcome {
  const outcome = membersOf(given);
  switch (outcome?.["type"]) {
    case "refuse":
      return { type: "refuse", reason: messageOf(outcome["reason"]) };
    case "answer":
      return { type: "answer", text: messageOf(outcome["text"]) };
    case "accept":
      return outcome["message"] === message
        ? given
        : { type: "accept", message: rewritten(outcome["message"], message) };
    default:
      throw new CapstanError("hook-failed", "An input hook gave something that is no outcome");
  }
}

/** Another text for the same input: who says it, and under which id, stays. */
function rewritten(given: unknown, { id, role }: Message): Message {
  const { parts, labels } = membersOf(toJson("an input hook made", given)) ?? {}; // a copy of it
  const labelled = labels === undefined || isTexts(labels);
  if (!Array.isArray(parts) || parts.length === 0 || !parts.every(isSaid) || !labelled)
    throw new CapstanError("hook-failed", "An input hook made a message that is none");
  return { id, role, parts: parts as readonly Part[], ...(labels !== undefined && { labels: labels as string[] }) }; // checked above
}
