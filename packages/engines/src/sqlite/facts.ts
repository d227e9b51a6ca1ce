/** Rows of facts: adding them behind the head, reading them back with proof that none is altered or missing. */

import { crc32 } from "node:zlib";
import { CapstanError, LIMITS, namedBlobs, type Fact, type ReadFacts } from "@capstan/core";
import { sqliteCode, SQLITE, type Database, type SqlValue } from "./database.ts";
import { damaged } from "./session-row.ts";
import { toText } from "./text.ts";

/** Room for the facts of one session in the key of the table: 67 million, for 134 million sessions. */
const FACTS_PER_SESSION = 2 ** 26;
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
  for (let from = 0; from < facts.length; from += ROWS) {
    const rows = facts.slice(from, from + ROWS);
    const values = rows.flatMap((fact, index) => rowOf(db, sessionId, session, head + from + index + 1, fact));
    try {
      db.run(INSERTS[rows.length - 1] as string, ...values); // one for each number of rows
    } catch (error) {
      throw sqliteCode(error) === SQLITE.CONSTRAINT ? refused(db, sessionId, session, rows, error) : error;
    }
  }
}

/** Rows of one statement: a statement costs as much as a row. */
const ROWS = 16;
const COLUMNS = "(?, ?, ?, ?, ?, ?)";

/** By the number of rows less one. */
const INSERTS: readonly string[] = Array.from({ length: ROWS }, (_none, more) => {
  const values = Array.from({ length: more + 1 }, () => COLUMNS).join(", ");
  return `INSERT INTO facts (id, session, key, type, checksum, body) VALUES ${values}`;
});

function rowOf(db: Database, sessionId: string, session: number, seq: number, fact: Fact): readonly SqlValue[] {
  if (fact.seq !== seq) {
    throw new CapstanError("lost-ownership", `Session ${sessionId} goes on at fact ${seq}, not at ${fact.seq}`);
  }
  const key = toText(fact.key);
  const body = JSON.stringify(fact);
  nameBlobs(db, session, body);
  return [rowId(session, seq), session, key, fact.type, checksumOf(seq, key, fact.type, body), body];
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
  return crc32(`${place} ${type} ${key} ${body}`);
}

function rowId(session: number, seq: number): number {
  return session * FACTS_PER_SESSION + seq;
}

function refused(
  db: Database,
  sessionId: string,
  session: number,
  facts: readonly Fact[],
  cause: unknown,
): CapstanError {
  const known = (fact: Fact): boolean =>
    db.get("SELECT 1 FROM facts WHERE session = ? AND key = ?", session, toText(fact.key)) !== undefined;
  const keys = facts.map((fact) => fact.key);
  const twice = facts.find((fact, index) => keys.indexOf(fact.key) !== index) ?? facts.find(known);
  if (twice === undefined) return damaged(sessionId, `it has facts beyond its head`, cause);
  return new CapstanError("store-conflict", `Session ${sessionId} refused the write: it has a fact ${twice.key}`);
}
