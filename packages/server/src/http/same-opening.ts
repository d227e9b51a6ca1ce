/** Whether an Idempotency-Key that names a session asks for the session that it named before. */

import { CapstanError, hashJson, type Json, type Session } from "@capstan/core";
import type { CreateBody } from "./schemas.ts";

/** In place of a secret: what was said there cannot be compared any more. */
const REDACTED = "[secret]";

/** Throws `idempotency-conflict` when the session of this key was opened with another body. */
export async function refuseOther(session: Session, key: string, body: CreateBody): Promise<void> {
  for await (const { event } of session.events({ live: false })) {
    if (event.type !== "session.created" || event.forkedFrom !== undefined) return;
    const { agent, title, metadata, mode } = event;
    const asked = { agent: body.agent, title: body.title, metadata: body.metadata, mode: body.mode ?? mode };
    const opened = { agent, title, metadata, mode };
    if (hash(opened) === hash(asked) || JSON.stringify(opened).includes(REDACTED)) return;
    throw new CapstanError("idempotency-conflict", `The key ${key} was used for another session; use a new key`);
  }
}

function hash(opening: object): string {
  return hashJson(JSON.parse(JSON.stringify(opening)) as Json); // members without a value are not there
}
