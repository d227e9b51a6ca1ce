/** The row of one session: finding it, its summary as text, and putting it into quarantine. */

import { CapstanError, type SessionSummary } from "@capstan/core";
import type { Database } from "./database.ts";
import { toText } from "./text.ts";

export type SessionRow = {
  readonly number: number;
  readonly owner: string | null;
  readonly epoch: number;
  readonly head: number;
  readonly status: string;
  /** Why it is in quarantine, as text for people. */
  readonly damage: string | null;
};
const FIND = "SELECT number, owner, epoch, head, status, damage FROM sessions WHERE id = ?";

export function find(db: Database, sessionId: string): SessionRow | undefined {
  return db.get<SessionRow>(FIND, toText(sessionId));
}

export function mustFind(db: Database, sessionId: string): SessionRow {
  const row = find(db, sessionId);
  if (row === undefined) throw new CapstanError("session-not-found", `There is no session ${sessionId}`);
  return row;
}

/** What is wrong with a session's rows. The store answers it with a quarantine. */
export function damaged(sessionId: string, why: string, cause?: unknown): CapstanError {
  return new CapstanError("session-damaged", damageText(sessionId, why), { cause });
}

/** Throws `session-damaged` when the session is in quarantine. */
export function requireWhole({ damage }: SessionRow): void {
  if (damage !== null) throw new CapstanError("session-damaged", damage);
}

export function damageText(sessionId: string, why: string): string {
  return `Session ${sessionId} is damaged (${why}); it can be read as far as it is whole, exported and removed`;
}

/** Makes a session read-only; `text` is what later writes are told. */
export function quarantine(db: Database, sessionId: string, text: string): void {
  db.run("UPDATE sessions SET damage = ? WHERE id = ? AND damage IS NULL", text, toText(sessionId));
}

/** Head and key are columns of their own: the holder's copy may be older. */
export function summaryText({ key: _key, head: _head, ...rest }: SessionSummary): string {
  return JSON.stringify(rest);
}
