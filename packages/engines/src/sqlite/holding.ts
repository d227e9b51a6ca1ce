/** What the holder of a session does: claim, append under its epoch, release; and the snapshot it leaves. */

import { CapstanError, type Append, type Claim, type Snapshot } from "@capstan/core";
import type { Database } from "./database.ts";
import { addFacts, checksumOf, isWhole } from "./facts.ts";
import { consumeMail, setTimers } from "./mail.ts";
import { damaged, find, mustFind, requireWhole, summaryText } from "./session-row.ts";
import { toText } from "./text.ts";

export function claim(db: Database, sessionId: string, owner: string, replacing?: string): Claim | undefined {
  const row = mustFind(db, sessionId);
  requireWhole(row);
  const { number, owner: held, epoch, head } = row;
  const name = toText(owner);
  if (held !== null && held !== name && (replacing === undefined || held !== toText(replacing))) return undefined;
  if (!isWhole(db, number, head)) throw damaged(sessionId, `its last fact is not number ${head}`);
  db.run("UPDATE sessions SET owner = ?, epoch = epoch + 1 WHERE number = ?", name, number);
  return { epoch: epoch + 1, head };
}

export function release(db: Database, sessionId: string, epoch: number): void {
  db.run("UPDATE sessions SET owner = NULL WHERE id = ? AND epoch = ? AND owner IS NOT NULL", toText(sessionId), epoch);
}

/** Answers where the session now ends. */
export function append(db: Database, write: Append): { readonly number: number; readonly head: number } {
  const { sessionId, epoch, facts, consumes = [], summary, timers = [], snapshot } = write;
  const row = find(db, sessionId);
  if (row === undefined || row.owner === null || row.epoch !== epoch) {
    throw new CapstanError("lost-ownership", `Session ${sessionId} is no longer held by this worker`);
  }
  requireWhole(row);
  const { number } = row;
  addFacts(db, sessionId, number, row.head, facts);
  consumeMail(db, sessionId, number, consumes);
  setTimers(db, number, timers);
  if (snapshot !== undefined) setSnapshot(db, number, snapshot);
  const head = row.head + facts.length;
  if (summary !== undefined) {
    const text = summaryText(summary);
    db.run(
      "UPDATE sessions SET head = ?, status = ?, summary = ? WHERE number = ?",
      head,
      summary.status,
      text,
      number,
    );
  } else if (facts.length > 0) {
    db.run("UPDATE sessions SET head = ? WHERE number = ?", head, number);
  }
  return { number, head };
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
  if (row === undefined || row.checksum !== checksumOf(row.seq, "", "snapshot", row.data)) return undefined;
  return { seq: row.seq, version: row.version, data: JSON.parse(row.data) };
}

function setSnapshot(db: Database, session: number, { seq, version, data }: Snapshot): void {
  const text = JSON.stringify(data);
  const sql = "INSERT OR REPLACE INTO snapshots (session, seq, version, checksum, data) VALUES (?, ?, ?, ?, ?)";
  db.run(sql, session, seq, version, checksumOf(seq, "", "snapshot", text), text);
}
