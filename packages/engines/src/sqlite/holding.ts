/** What the holder of a session does: claim, append under its epoch, release; and the snapshot it leaves. */

import { CapstanError, type Append, type Claim, type Snapshot } from "@capstan/core";
import type { Database } from "./database.ts";
import { addFacts, checksumOf, isWhole, outOfOrder } from "./facts.ts";
import { consumeMail, setTimers } from "./mail.ts";
import { damaged, find, mustFind, parseSummary, requireWhole, summaryText } from "./session-row.ts";
import { toText } from "./text.ts";

const SUMMARY = "SELECT agent, status, summary FROM sessions WHERE number = ?";

export function claim(db: Database, sessionId: string, owner: string, replacing?: string): Claim | undefined {
  const row = mustFind(db, sessionId);
  requireWhole(row);
  const { number, owner: held, epoch, head } = row;
  const name = toText(owner);
  if (held !== null && held !== name && (replacing === undefined || held !== toText(replacing))) return undefined;
  if (!isWhole(db, number, head)) throw damaged(sessionId, `its last fact is not number ${head}`);
  const columns = db.get<Parameters<typeof parseSummary>[0]>(SUMMARY, number);
  if (columns === undefined || parseSummary(columns) === undefined) throw damaged(sessionId, "its summary was altered");
  db.run("UPDATE sessions SET owner = ?, epoch = epoch + 1 WHERE number = ?", name, number);
  return { epoch: epoch + 1, head };
}

export function release(db: Database, sessionId: string, epoch: number): void {
  db.run("UPDATE sessions SET owner = NULL WHERE id = ? AND epoch = ? AND owner IS NOT NULL", toText(sessionId), epoch);
}

/** What an append may write to: held under this epoch, not in quarantine, and at this head unless that is null. */
const HELD =
  "SELECT number, head FROM sessions WHERE id = ? AND epoch = ? AND head = coalesce(?, head) AND owner IS NOT NULL AND damage IS NULL";
const MOVE = "UPDATE sessions SET head = ? WHERE number = ?"; // `RETURNING` would make a table for the row, each time
const MOVE_AND_SUM_UP = "UPDATE sessions SET head = ?, status = ?, agent = ?, summary = ? WHERE number = ?";

type Held = { readonly number: number; readonly head: number };

/** Answers where the session now ends. */
export function append(db: Database, write: Append): Held {
  const { sessionId, epoch, facts, consumes = [], summary, timers = [], snapshot } = write;
  const first = facts[0]?.seq;
  const held = db.get<Held>(HELD, toText(sessionId), epoch, first === undefined ? null : first - 1);
  if (held === undefined) throw refused(db, write);
  const { number } = held;
  const head = held.head + facts.length;
  if (summary !== undefined)
    db.run(MOVE_AND_SUM_UP, head, summary.status, toText(summary.agent), summaryText(summary), number);
  else if (facts.length > 0) db.run(MOVE, head, number);
  addFacts(db, sessionId, number, held.head, facts);
  consumeMail(db, sessionId, number, consumes);
  setTimers(db, number, timers);
  if (snapshot !== undefined) setSnapshot(db, number, snapshot);
  return { number, head };
}

function refused(db: Database, { sessionId, epoch, facts }: Append): CapstanError {
  const row = find(db, sessionId);
  if (row === undefined || row.owner === null || row.epoch !== epoch)
    return new CapstanError("lost-ownership", `Session ${sessionId} is no longer held by this worker`);
  requireWhole(row);
  return outOfOrder(sessionId, row.head + 1, facts[0]?.seq);
}

export function snapshot(db: Database, sessionId: string): Snapshot | undefined {
  const number = find(db, sessionId)?.number;
  if (number === undefined) return undefined;
  const row = db.get<{
    readonly seq: number;
    readonly version: number;
    readonly checksum: number;
    readonly data: string;
  }>("SELECT seq, version, checksum, data FROM snapshots WHERE session = ?", number);
  // A damaged snapshot is as good as none: the facts are folded instead.
  if (row === undefined || row.checksum !== checksumOf(row.seq, `snapshot ${row.data}`)) return undefined;
  return { seq: row.seq, version: row.version, data: JSON.parse(row.data) };
}

function setSnapshot(db: Database, session: number, { seq, version, data }: Snapshot): void {
  const text = JSON.stringify(data);
  const sql = "INSERT OR REPLACE INTO snapshots (session, seq, version, checksum, data) VALUES (?, ?, ?, ?, ?)";
  db.run(sql, session, seq, version, checksumOf(seq, `snapshot ${text}`), text);
}
