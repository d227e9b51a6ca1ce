/** The row of one session: finding it, its summary as text, and putting it into quarantine. */

import { crc32 } from "node:zlib";
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
/** In front of the checksum of a summary, its last field. Within a string of JSON it would be escaped. */
const CHECK = ',"check":';
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

/** Head and key are columns of their own: the holder's copy may be older. Who holds it is another one. */
export function summaryText({ key: _key, head: _head, held: _held, ...rest }: SessionSummary): string {
  const json = JSON.stringify(rest);
  return `${json.slice(0, -1)}${CHECK}${crc32(json)}}`;
}

type SummaryColumns = { readonly agent: string; readonly status: string; readonly summary: string };

/** What `summaryText` wrote; `undefined` when it, or one of the columns that repeat it, was altered. */
export function parseSummary({ agent, status, summary: text }: SummaryColumns): SessionSummary | undefined {
  const end = text.lastIndexOf(CHECK);
  const json = end === -1 ? text : `${text.slice(0, end)}}`; // the first stores had none
  if (end !== -1 && text.slice(end + CHECK.length, -1) !== String(crc32(json))) return undefined;
  try {
    const summary = JSON.parse(json) as SessionSummary; // the checksum says it is as written
    return summary.status === status && toText(summary.agent) === agent ? summary : undefined;
  } catch {
    return undefined;
  }
}
