/** Rows of facts: adding them behind the head, reading them back with proof that none is altered or missing. */

import { crc32 } from "node:zlib";
import { CapstanError, LIMITS, namedBlobs, type Fact, type ReadFacts } from "@capstan/core";
import { sqliteCode, SQLITE, type Database } from "./database.ts";
import { damaged } from "./session-row.ts";

/** Room for the facts of one session in the key of the table: 67 million, for 134 million sessions. */
const FACTS_PER_SESSION = 2 ** 26;
/** Facts of one row: what was appended together is read together. */
const ROW_FACTS = 64;
const SELECT = "SELECT id, checksum, body FROM facts WHERE id > ? AND id < ? ORDER BY id";
const INSERT = "INSERT INTO facts (id, checksum, body) VALUES (?, ?, ?)";

type FactRow = { readonly id: number; readonly checksum: number; readonly body: string };

/** Throws `lost-ownership` unless the facts follow `head`. */
export function addFacts(db: Database, sessionId: string, session: number, head: number, facts: readonly Fact[]): void {
  const wrong = facts.findIndex(({ seq }, index) => seq !== head + index + 1);
  if (wrong !== -1) throw outOfOrder(sessionId, head + wrong + 1, facts[wrong]?.seq);
  for (let from = 0; from < facts.length; from += ROW_FACTS) {
    const row = facts.slice(from, from + ROW_FACTS);
    const last = head + from + row.length;
    const body = JSON.stringify(row);
    nameBlobs(db, session, body);
    try {
      db.run(INSERT, rowId(session, last), checksumOf(last, body), body);
    } catch (error) {
      const taken = sqliteCode(error) === SQLITE.CONSTRAINT;
      throw taken ? damaged(sessionId, "it has facts beyond its head", error) : error;
    }
  }
}

export function outOfOrder(sessionId: string, next: number, seq: number | undefined): CapstanError {
  return new CapstanError("lost-ownership", `Session ${sessionId} goes on at fact ${next}, not at ${seq}`);
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
    for (const row of db.rows<FactRow>(SELECT, rowId(session, after), rowId(session, FACTS_PER_SESSION))) {
      const facts = factsOf(row, sessionId, seq + 1);
      for (const fact of facts) {
        if (fact.seq <= seq) continue;
        seq = fact.seq;
        if (types === undefined || types.has(fact.type)) found.push(fact);
        if (found.length >= limit || seq === through) return found;
      }
    }
  } catch (error) {
    throw sqliteCode(error) === SQLITE.CORRUPT ? damaged(sessionId, `fact ${seq + 1} cannot be read`, error) : error;
  }
  throw damaged(sessionId, `fact ${seq + 1} is missing`);
}

/** The facts of a row, of which `next` must be one. */
function factsOf({ id, checksum, body }: FactRow, sessionId: string, next: number): readonly Fact[] {
  const last = id % FACTS_PER_SESSION;
  if (checksum !== checksumOf(last, body)) throw damaged(sessionId, `a fact of ${next} to ${last} was altered`);
  const facts = JSON.parse(body) as readonly Fact[]; // the checksum says it is as written
  if ((facts[0]?.seq ?? last) > next) throw damaged(sessionId, `fact ${next} is missing`);
  return facts;
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
export function checksumOf(place: number, text: string): number {
  return crc32(text, crc32(`${place} `));
}

function rowId(session: number, seq: number): number {
  return session * FACTS_PER_SESSION + seq;
}
