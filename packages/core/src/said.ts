/** What the loop itself says in the conversation: words of the system in one of its roles, under an id of their own. */

import type { NewFact } from "./event.ts";
import { type Message, text } from "./message.ts";

/** Its key is the id: said once, whatever happens. */
export function saidFact(runId: string, id: string, role: Message["role"], ...texts: readonly string[]): NewFact {
  return { type: "message.added", key: id, runId, message: { id, role, parts: texts.map(text) } };
}
