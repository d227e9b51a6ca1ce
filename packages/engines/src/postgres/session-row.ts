/** The row of one session: finding it, its summary as text, and putting it into quarantine. */

import { crc32 } from "node:zlib";
import { CapstanError, type SessionSummary } from "@capstan/core";
import type { Sql } from "./connection.ts";
import { toName, toText } from "./text.ts";

export type SessionRow = {
  readonly number: number;
  readonly owner: string | null;
  readonly epoch: number;
  readonly head: number;
  readonly agent: string;
  readonly status: string;
  readonly summary: string;
  /** Why it is in quarantine, as text for people. */
  readonly damage: string | null;
};

/** In front of the checksum of a summary, its last field. Within a string of JSON it would be escaped. */
const CHECK = ',"check":';
const FIND = "SELECT number, owner, epoch, head, agent, status, summary, damage FROM sessions WHERE name = $1";

/** `lock`: nobody else changes it, nor removes it, until the transaction ends. */
export async function find(db: Sql, sessionId: string, lock?: "lock"): Promise<SessionRow | undefined> {
  return db.get<SessionRow>(lock === undefined ? FIND : `${FIND} FOR UPDATE`, toName(sessionId));
}

export async function mustFind(db: Sql, sessionId: string, lock?: "lock"): Promise<SessionRow> {
  const row = await find(db, sessionId, lock);
  if (row === undefined) throw notFound(sessionId);
  return row;
}

export function notFound(sessionId: string): CapstanError {
  return new CapstanError("session-not-found", `There is no session ${sessionId}`);
}

/** What is wrong with a session's rows. The store answers it with a quarantine. */
export function damaged(sessionId: string, why: string, cause?: unknown): CapstanError {
  const text = `Session ${sessionId} is damaged (${why}); it can be read as far as it is whole, exported and removed`;
  return new CapstanError("session-damaged", text, { cause });
}

/** Throws `session-damaged` when the session is in quarantine. */
export function requireWhole({ damage }: { readonly damage: string | null }): void {
  if (damage !== null) throw new CapstanError("session-damaged", damage);
}

/** Makes a session read-only; `text` is what later writes are told. */
export async function quarantine(db: Sql, sessionId: string, text: string): Promise<void> {
  await db.run("UPDATE sessions SET damage = $1 WHERE name = $2 AND damage IS NULL", toText(text), toName(sessionId));
}

/** CRC-32 of a row: a changed byte or a row in another place does not match. */
export function checksumOf(place: number, text: string): number {
  return crc32(text, crc32(`${place} `));
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
  const json = `${text.slice(0, end)}}`;
  if (end === -1 || text.slice(end + CHECK.length, -1) !== String(crc32(json))) return undefined;
  const summary = JSON.parse(json) as SessionSummary; // the checksum says it is as written
  return summary.status === status && toText(summary.agent) === agent ? summary : undefined;
}
