/** What the holder of a session does: claim, append under its epoch, release; and the snapshot it leaves. */

import { CapstanError, type Append, type Claim, type Snapshot } from "@capstan/core";
import type { Sql } from "./connection.ts";
import { addRows, nameBlobs, namesBlobs, outOfOrder, toRows, type FactRow } from "./facts.ts";
import type { Tx } from "./lane.ts";
import { consumeMail } from "./mail.ts";
import { checksumOf, damaged, find, mustFind, parseSummary, requireWhole, summaryText } from "./session-row.ts";
import { SqlError } from "./sql-errors.ts";
import { toName, toText } from "./text.ts";
import { setTimers } from "./timers.ts";

const CLAIM = `UPDATE sessions SET owner = $2, epoch = epoch + 1 WHERE number = $1
  AND head = coalesce((SELECT max(last) FROM facts WHERE session = $1), 0) RETURNING epoch, head`;

export async function claim(
  db: Sql,
  sessionId: string,
  owner: string,
  replacing: string | undefined,
): Promise<Claim | undefined> {
  const row = await mustFind(db, sessionId, "lock");
  requireWhole(row);
  const { owner: held } = row;
  const name = toText(owner);
  if (held !== null && held !== name && (replacing === undefined || held !== toText(replacing))) return undefined;
  if (parseSummary(row) === undefined) throw damaged(sessionId, "its summary was altered");
  const claimed = await db.get<Claim>(CLAIM, row.number, name);
  if (claimed === undefined) throw damaged(sessionId, `its last fact is not number ${row.head}`);
  return { epoch: claimed.epoch, head: claimed.head };
}

export async function release(db: Sql, sessionId: string, epoch: number): Promise<void> {
  const sql = "UPDATE sessions SET owner = NULL WHERE name = $1 AND epoch = $2 AND owner IS NOT NULL";
  await db.run(sql, toName(sessionId), epoch);
}

/** What is to be stored, as rows: made before the database is asked, so that what is no JSON fails by itself. */
export type Writing = {
  readonly write: Append;
  readonly rows: readonly FactRow[];
  readonly names: boolean;
  /** One statement stores all of it. */
  readonly single: boolean;
};

export function toWriting(write: Append): Writing {
  const { sessionId, facts, consumes = [], timers = [], snapshot } = write;
  const rows = toRows(sessionId, (facts[0]?.seq ?? 1) - 1, facts);
  const names = namesBlobs(rows);
  const more = names || consumes.length > 0 || timers.length > 0 || snapshot !== undefined;
  return { write, rows, names, single: !more && rows.length <= 1 };
}

/** Written only where it is held under this epoch, not in quarantine, and at the head that the first fact follows. */
const APPEND = `WITH held AS (
  UPDATE sessions SET head = head + $4, status = coalesce($5, status), agent = coalesce($6, agent), summary = coalesce($7, summary)
  WHERE name = $1 AND epoch = $2 AND head = coalesce($3, head) AND owner IS NOT NULL AND damage IS NULL RETURNING number
), added AS (
  INSERT INTO facts (session, last, checksum, body) SELECT number, $8::bigint, $9::bigint, $10::text FROM held WHERE $8::bigint IS NOT NULL
) SELECT number, set_config('synchronous_commit', $11, true) FROM held`;

export async function append(tx: Tx, { write, rows, names }: Writing): Promise<void> {
  const { sessionId, epoch, facts, consumes = [], summary, timers = [], snapshot } = write;
  const [first, ...more] = rows;
  const after = facts[0] === undefined ? null : facts[0].seq - 1;
  const sums = summary === undefined ? null : [summary.status, toText(summary.agent), summaryText(summary)];
  const [status = null, agent = null, text = null] = sums ?? [];
  const place = [first?.last ?? null, first?.checksum ?? null, first?.body ?? null];
  const values = [toName(sessionId), epoch, after, facts.length, status, agent, text, ...place, tx.commit];
  const held = await beyondHead(sessionId, () => tx.get<{ readonly number: number }>(APPEND, ...values));
  if (held === undefined) return refuse(tx, write, rows);
  const { number } = held;
  if (more.length > 0) await beyondHead(sessionId, () => addRows(tx, number, more));
  if (names)
    await nameBlobs(
      tx,
      number,
      rows.map(({ body }) => body),
    );
  if (consumes.length > 0) await consumeMail(tx, sessionId, number, consumes);
  if (timers.length > 0) await setTimers(tx, number, timers);
  if (snapshot !== undefined) await setSnapshot(tx, number, snapshot);
}

const UNIQUE_VIOLATION = "23505";

async function beyondHead<T>(sessionId: string, add: () => Promise<T>): Promise<T> {
  try {
    return await add();
  } catch (error) {
    const taken = error instanceof SqlError && error.state === UNIQUE_VIOLATION;
    throw taken ? damaged(sessionId, "it has facts beyond its head", error) : error;
  }
}

const STORED = "SELECT 1 FROM facts WHERE session = $1 AND last = $2 AND checksum = $3 AND body = $4";

/** Throws why it was not written, unless it was: by this epoch, on a connection that was lost before it said so. */
async function refuse(tx: Tx, { sessionId, epoch, facts }: Append, rows: readonly FactRow[]): Promise<void> {
  const row = await find(tx, sessionId);
  if (row === undefined || row.owner === null || row.epoch !== epoch)
    throw new CapstanError("lost-ownership", `Session ${sessionId} is no longer held by this worker`);
  requireWhole(row);
  const end = rows.at(-1);
  if (tx.again && end !== undefined && end.last <= row.head) {
    const stored = await tx.get(STORED, row.number, end.last, end.checksum, end.body);
    if (stored !== undefined) return;
  }
  throw outOfOrder(sessionId, row.head + 1, facts[0]?.seq);
}

type SnapshotRow = { readonly seq: number; readonly version: number; readonly checksum: number; readonly data: string };

export async function snapshot(db: Sql, sessionId: string): Promise<Snapshot | undefined> {
  const sql = `SELECT seq, version, checksum, data FROM snapshots
    WHERE session = (SELECT number FROM sessions WHERE name = $1)`;
  const row = await db.get<SnapshotRow>(sql, toName(sessionId));
  // A damaged snapshot is as good as none: the facts are folded instead.
  if (row === undefined || row.checksum !== checksumOf(row.seq, `snapshot ${row.data}`)) return undefined;
  return { seq: row.seq, version: row.version, data: JSON.parse(row.data) };
}

async function setSnapshot(db: Sql, session: number, { seq, version, data }: Snapshot): Promise<void> {
  const text = JSON.stringify(data);
  const sql = `INSERT INTO snapshots (session, seq, version, checksum, data) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (session) DO UPDATE SET seq = $2, version = $3, checksum = $4, data = $5`;
  await db.run(sql, session, seq, version, checksumOf(seq, `snapshot ${text}`), text);
}
