/** Rows of facts: adding them behind the head, reading them back with proof that none is altered or missing. */

import { crc32 } from "node:zlib";
import { CapstanError, LIMITS, namedBlobs, type Fact, type ReadFacts } from "@capstan/core";
import { sqliteCode, SQLITE, type Database } from "./database.ts";
import { damaged } from "./session-row.ts";
import { fromText, toText } from "./text.ts";

/** Room for the facts of one session in the key of the table: 67 million, for 134 million sessions. */
const FACTS_PER_SESSION = 2 ** 26;
const INSERT = "INSERT INTO facts (id, session, key, type, checksum, body) VALUES (?, ?, ?, ?, ?, ?)";
const SELECT = "SELECT id, key, type, checksum, body FROM facts WHERE id > ? AND id <= ? ORDER BY id";

type FactRow = {
  readonly id: number;
  readonly key: string;
  readonly type: string;
  readonly checksum: number;
  readonly body: string;
};

/** Throws `lost-ownership` unless the facts follow `head`, `store-conflict` for a key that the session has. */
export function addFacts(db: Database, sessionId: string, session: number, head: number, facts: readonly Fact[]): void {
  let seq = head;
  for (const fact of facts) {
    seq += 1;
    if (fact.seq !== seq) {
      throw new CapstanError("lost-ownership", `Session ${sessionId} goes on at fact ${seq}, not at ${fact.seq}`);
    }
    const key = toText(fact.key);
    const body = JSON.stringify(fact);
    try {
      db.run(INSERT, rowId(session, seq), session, key, fact.type, checksumOf(seq, key, fact.type, body), body);
    } catch (error) {
      throw sqliteCode(error) === SQLITE.CONSTRAINT ? refused(db, sessionId, session, fact, error) : error;
    }
    nameBlobs(db, session, body);
  }
}

/** Facts of one page, checked. Throws `session-damaged` where a row is altered or missing. */
export function readFacts(db: Database, sessionId: string, session: number, head: number, options: ReadFacts): Fact[] {
  const { limit = LIMITS.readPage } = options;
  const after = Math.max(options.after, 0);
  const through = Math.min(options.through ?? head, head);
  const types = options.types && new Set<string>(options.types);
  const found: Fact[] = [];
  let seq = after;
  try {
    if (through <= after || limit <= 0) return found;
    for (const row of db.rows<FactRow>(SELECT, rowId(session, after), rowId(session, through))) {
      seq += 1;
      if (row.id !== rowId(session, seq)) throw damaged(sessionId, `fact ${seq} is missing`);
      const { checksum, key, type, body } = row;
      if (checksum !== checksumOf(seq, key, type, body)) throw damaged(sessionId, `fact ${seq} was altered`);
      if (types === undefined || types.has(type)) found.push(JSON.parse(body) as Fact); // the checksum says it is as written
      if (found.length >= limit) return found;
    }
  } catch (error) {
    throw sqliteCode(error) === SQLITE.CORRUPT ? damaged(sessionId, `fact ${seq + 1} cannot be read`, error) : error;
  }
  if (seq < through) throw damaged(sessionId, `fact ${seq + 1} is missing`);
  return found;
}

/** Whether the last fact is where the head says, at a cost that does not depend on their number. */
export function isWhole(db: Database, session: number, head: number): boolean {
  const from = rowId(session, 0);
  const to = rowId(session, FACTS_PER_SESSION);
  const last = db.get<{ readonly id: number | null }>(
    "SELECT max(id) AS id FROM facts WHERE id > ? AND id < ?",
    from,
    to,
  );
  return (last?.id ?? from) === rowId(session, head);
}

export function removeFacts(db: Database, session: number): void {
  db.run("DELETE FROM facts WHERE id > ? AND id < ?", rowId(session, 0), rowId(session, FACTS_PER_SESSION));
}

/** Notes which stored blobs this text names, so that they stay as long as the session. */
export function nameBlobs(db: Database, session: number, text: string): void {
  for (const hash of namedBlobs(text)) {
    if (db.run("UPDATE blobs SET unnamed = max(0, unnamed - 1) WHERE hash = ?", hash) === 0) continue;
    db.run("INSERT OR IGNORE INTO blob_names (session, hash) VALUES (?, ?)", session, hash);
  }
}

/** CRC-32 of a row: a changed byte or a row in another place does not match. */
export function checksumOf(place: number, key: string, type: string, body: string): number {
  return crc32(body, crc32(`${place} ${type} ${key}`));
}

function rowId(session: number, seq: number): number {
  return session * FACTS_PER_SESSION + seq;
}

function refused(db: Database, sessionId: string, session: number, fact: Fact, cause: unknown): CapstanError {
  const key = toText(fact.key);
  if (db.get("SELECT 1 FROM facts WHERE session = ? AND key = ?", session, key) === undefined) {
    return damaged(sessionId, `it has facts beyond its head`, cause);
  }
  return new CapstanError("store-conflict", `Session ${sessionId} refused the write: it has a fact ${fromText(key)}`);
}
