/** What the loop itself says in the conversation: words of the system in one of its roles, under an id of their own. */

import type { NewFact } from "../words/event.ts";
import { type Message, text } from "../words/message.ts";

/** What the model reads where a person stopped it. */
export const INTERRUPT_MARKER = "<system>User interrupted this message</system>";

/** Its key is the id: said once, whatever happens. */
export function saidFact(runId: string, id: string, role: Message["role"], ...texts: readonly string[]): NewFact {
  return { type: "message.added", key: id, runId, message: { id, role, parts: texts.map(text) } };
}
