/** Rows of facts: adding them behind the head, reading them back with proof that none is altered or missing. */

import { CapstanError, LIMITS, namedBlobs, type Fact, type ReadFacts } from "@capstan/core";
import type { Sql } from "./connection.ts";
import { checksumOf, damaged, notFound, requireWhole } from "./session-row.ts";
import { toName } from "./text.ts";

/** Facts of one row: what was appended together is read together. */
const ROW_FACTS = 64;

export type FactRow = { readonly last: number; readonly checksum: number; readonly body: string };

/** Facts as rows. Throws `lost-ownership` unless they follow each other, from `head + 1` on. */
export function toRows(sessionId: string, head: number, facts: readonly Fact[]): readonly FactRow[] {
  const wrong = facts.findIndex(({ seq }, index) => seq !== head + index + 1);
  if (wrong !== -1) throw outOfOrder(sessionId, head + wrong + 1, facts[wrong]?.seq);
  const rows: FactRow[] = [];
  for (let from = 0; from < facts.length; from += ROW_FACTS) {
    const some = facts.slice(from, from + ROW_FACTS);
    const last = head + from + some.length;
    const body = JSON.stringify(some);
    rows.push({ last, checksum: checksumOf(last, body), body });
  }
  return rows;
}

export async function addRows(db: Sql, session: number, rows: readonly FactRow[]): Promise<void> {
  if (rows.length === 0) return;
  const sql = `INSERT INTO facts (session, last, checksum, body)
    SELECT $1, row.last, row.checksum, row.body FROM unnest($2::bigint[], $3::bigint[], $4::text[]) AS row (last, checksum, body)`;
  const column = <T>(of: (row: FactRow) => T): readonly T[] => rows.map(of);
  await db.run(
    sql,
    session,
    column(({ last }) => last),
    column(({ checksum }) => checksum),
    column(({ body }) => body),
  );
}

export function outOfOrder(sessionId: string, next: number, seq: number | undefined): CapstanError {
  return new CapstanError("lost-ownership", `Session ${sessionId} goes on at fact ${next}, not at ${seq}`);
}

type Found = { readonly head: number; readonly damage: string | null } & (
  | FactRow
  | { readonly last: null; readonly checksum: null; readonly body: null }
);

/** One statement, so that a session that is removed meanwhile is there as a whole or not at all. */
const SELECT = `SELECT s.head, s.damage, f.last, f.checksum, f.body FROM sessions s LEFT JOIN LATERAL (
  SELECT last, checksum, body FROM facts WHERE session = s.number AND last > $2 ORDER BY last LIMIT $3
) f ON true WHERE s.name = $1 ORDER BY f.last`;

/** Facts of one page, checked. Throws `session-damaged` where a row is altered or missing. */
export async function read(db: Sql, sessionId: string, options: ReadFacts): Promise<readonly Fact[]> {
  const { limit = LIMITS.readPage } = options;
  const types = options.types && new Set<string>(options.types);
  const rowsAtOnce = Math.max(1, Math.min(limit, LIMITS.readPage));
  const found: Fact[] = [];
  let seq = Math.max(options.after, 0);
  for (;;) {
    const rows = await db.all<Found>(SELECT, toName(sessionId), seq, rowsAtOnce);
    const [first] = rows;
    if (first === undefined) throw notFound(sessionId);
    if (first.head === 0) requireWhole(first);
    const through = Math.min(options.through ?? first.head, first.head);
    if (through <= seq || limit <= 0) return found;
    for (const row of rows) {
      if (row.last === null) throw damaged(sessionId, `fact ${seq + 1} is missing`);
      for (const fact of factsOf(row, sessionId, seq + 1)) {
        if (fact.seq <= seq) continue;
        seq = fact.seq;
        if (types === undefined || types.has(fact.type)) found.push(fact);
        if (found.length >= limit || seq === through) return found;
      }
    }
  }
}

/** The facts of a row, of which `next` must be one. */
function factsOf({ last, checksum, body }: FactRow, sessionId: string, next: number): readonly Fact[] {
  if (checksum !== checksumOf(last, body)) throw damaged(sessionId, `a fact of ${next} to ${last} was altered`);
  const facts = JSON.parse(body) as readonly Fact[]; // the checksum says it is as written
  if ((facts[0]?.seq ?? last) > next) throw damaged(sessionId, `fact ${next} is missing`);
  return facts;
}

/** Notes which stored blobs these texts name, so that they stay as long as the session. */
export async function nameBlobs(db: Sql, session: number, texts: readonly string[]): Promise<void> {
  const hashes = texts.flatMap((text) => namedBlobs(text));
  if (hashes.length === 0) return;
  const sql = `WITH named AS (SELECT hash, count(*)::integer AS times FROM unnest($2::text[]) AS hash GROUP BY hash), used AS (
      UPDATE blobs SET unnamed = greatest(0, unnamed - named.times) FROM named WHERE blobs.hash = named.hash RETURNING blobs.hash
    ) INSERT INTO blob_names (session, hash) SELECT $1, hash FROM used ON CONFLICT DO NOTHING`;
  await db.run(sql, session, hashes);
}

/** Whether a fact of them may name a blob. */
export function namesBlobs(rows: readonly FactRow[]): boolean {
  return rows.some(({ body }) => namedBlobs(body).length > 0);
}
