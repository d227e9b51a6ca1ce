/** Rows of mailboxes. Consumed mail keeps its key, digest and answer, so that a repeated key stays known. */

import { CapstanError, type Accepted, type MailboxEntry, type NewMail } from "@capstan/core";
import type { Sql } from "./connection.ts";
import { nameBlobs } from "./facts.ts";
import { checksumOf, damaged, mustFind, notFound, requireWhole } from "./session-row.ts";
import { toName } from "./text.ts";

const KNOWN = "SELECT digest, accepted FROM mail WHERE session = $1 AND key = $2";
const HAS_INPUT = "SELECT 1 FROM mail WHERE session = $1 AND entry IS NOT NULL AND input";
const NEXT = "UPDATE sessions SET mailed = mailed + 1 WHERE number = $1 RETURNING mailed";
const INSERT = `INSERT INTO mail (session, position, key, digest, accepted, input, checksum, entry)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;

export async function submit(db: Sql, mail: NewMail): Promise<Accepted> {
  const { sessionId, digest, key, actor, body, accepted } = mail;
  const isInput = body.type === "op" && body.op.type === "send";
  const entry = JSON.stringify({ actor, ...body, key });
  const row = await mustFind(db, sessionId, "lock");
  const { number, status } = row;
  const known = await db.get<{ readonly digest: string; readonly accepted: string }>(KNOWN, number, toName(key));
  if (known !== undefined) {
    if (known.digest === digest) return JSON.parse(known.accepted) as Accepted; // as submitted
    throw new CapstanError("idempotency-conflict", `The key ${key} was used for another request; use a new key`);
  }
  requireWhole(row);
  if (mail.ifIdle === true && (status !== "idle" || (await db.get(HAS_INPUT, number)) !== undefined)) {
    throw new CapstanError("session-busy", `Session ${sessionId} is busy; wait for its run or queue the input`, {
      retryable: true,
    });
  }
  const position = (await db.get<{ readonly mailed: number }>(NEXT, number))?.mailed ?? 0;
  const checksum = mailChecksum(position, entry);
  await db.run(INSERT, number, position, toName(key), digest, JSON.stringify(accepted), isInput, checksum, entry);
  await nameBlobs(db, number, [entry]);
  return accepted;
}

type MailRow = { readonly position: number; readonly checksum: number; readonly entry: string };
type Found = MailRow | { readonly position: null; readonly checksum: null; readonly entry: null };

const UNREAD = `SELECT m.position, m.checksum, m.entry FROM sessions s
  LEFT JOIN mail m ON m.session = s.number AND m.entry IS NOT NULL WHERE s.name = $1 ORDER BY m.position`;

/** Entries not yet consumed, oldest first. Throws `session-damaged` when one was altered. */
export async function unread(db: Sql, sessionId: string): Promise<readonly MailboxEntry[]> {
  const rows = await db.all<Found>(UNREAD, toName(sessionId));
  if (rows.length === 0) throw notFound(sessionId);
  return rows.flatMap((row) => {
    if (row.position === null) return [];
    if (row.checksum !== mailChecksum(row.position, row.entry))
      throw damaged(sessionId, `mail ${row.position} was altered`);
    const entry = JSON.parse(row.entry) as MailboxEntry; // the checksum says it is as written
    return [{ ...entry, position: row.position }];
  });
}

export function mailChecksum(position: number, entry: string): number {
  return checksumOf(position, `mail ${entry}`);
}

export async function consumeMail(
  db: Sql,
  sessionId: string,
  session: number,
  positions: readonly number[],
): Promise<void> {
  const wanted = [...new Set(positions)];
  const sql = "UPDATE mail SET entry = NULL WHERE session = $1 AND position = ANY($2::bigint[]) AND entry IS NOT NULL";
  if ((await db.run(sql, session, wanted)) === wanted.length) return;
  const message = `Session ${sessionId} refused the write: mail ${positions.join(", ")} was consumed before`;
  throw new CapstanError("store-conflict", message);
}
