/** Rows of sessions: making, summaries, lists, moving keys, removing. */

import { CapstanError } from "@capstan/core";
import type { NewSession, PendingSession, SessionFilter, SessionSummary } from "@capstan/core";
import type { ProcessPlace } from "../sqlite/owners.ts";
import { removeBlobs } from "./blobs.ts";
import type { Sql, SqlValue } from "./connection.ts";
import { addRows, nameBlobs, toRows } from "./facts.ts";
import { living } from "./owners.ts";
import { find, mustFind, notFound, parseSummary, summaryText } from "./session-row.ts";
import { fromText, toName, toText } from "./text.ts";

type SummaryRow = {
  readonly number: number;
  readonly id: string;
  readonly agent: string;
  readonly key: string | null;
  readonly owner: string | null;
  readonly head: number;
  readonly status: string;
  readonly summary: string;
  readonly damage: string | null;
};
type Created = { readonly sessionId: string; readonly created: boolean };

const SUMMARY = "SELECT number, id, agent, key, owner, head, status, summary, damage FROM sessions";
const STATUS = "CASE WHEN damage IS NULL THEN status ELSE 'quarantined' END";
const INSERT = `INSERT INTO sessions (name, id, agent, key_name, key, tenant, parent, status, epoch, head, mailed, summary)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, 0, $10) ON CONFLICT DO NOTHING RETURNING number`;
/** How often a session that has the name is looked for: each time it may have been removed meanwhile. */
const LOOKS = 3;

export async function create(db: Sql, made: NewSession): Promise<Created> {
  const { sessionId, key, tenant = "", facts, summary, copyOf } = made;
  const rows = toRows(sessionId, 0, facts);
  for (let look = 0; look < LOOKS; look += 1) {
    const known = await knownAs(db, sessionId, tenant, key);
    if (known !== undefined) return { sessionId: known, created: false };
    if (copyOf !== undefined) await requireKept(db, copyOf);
    const session = await db.get<{ readonly number: number }>(
      INSERT,
      toName(sessionId),
      toText(sessionId),
      toText(summary.agent),
      key === undefined ? null : toName(key),
      key === undefined ? null : toText(key),
      toName(tenant),
      summary.parent === undefined ? null : toName(summary.parent),
      summary.status,
      facts.length,
      summaryText(summary),
    );
    if (session === undefined) continue; // another process was faster
    await addRows(db, session.number, rows);
    await nameBlobs(
      db,
      session.number,
      rows.map(({ body }) => body),
    );
    return { sessionId, created: true };
  }
  throw new CapstanError("store-conflict", `Session ${sessionId} is made and removed over and over; try again`);
}

async function knownAs(
  db: Sql,
  sessionId: string,
  tenant: string,
  key: string | undefined,
): Promise<string | undefined> {
  if ((await find(db, sessionId)) !== undefined) return sessionId;
  return key === undefined ? undefined : (await holderOf(db, toName(tenant), toName(key)))?.id;
}

/** It stays until the transaction ends. */
async function requireKept(db: Sql, sessionId: string): Promise<void> {
  const found = await db.get("SELECT 1 FROM sessions WHERE name = $1 FOR SHARE", toName(sessionId));
  if (found === undefined) throw notFound(sessionId);
}

export async function summary(db: Sql, sessionId: string, here: ProcessPlace): Promise<SessionSummary | undefined> {
  const row = await db.get<SummaryRow>(`${SUMMARY} WHERE name = $1`, toName(sessionId));
  return row && (await toSummaries(db, [row], here))[0];
}

/** Sessions of one page: what is read in one piece keeps others waiting. */
const LIST_PAGE = 1_000;

export type Page = {
  readonly found: readonly SessionSummary[];
  /** What to ask for next; `undefined` at the end. */
  readonly below: number | undefined;
};
/** Sessions made before the one with the number `below`, at most `left`. */
export type PageOptions = { readonly below: number | undefined; readonly left: number };

export async function list(
  db: Sql,
  filter: SessionFilter,
  here: ProcessPlace,
  { below, left }: PageOptions,
): Promise<Page> {
  const tests: string[] = [];
  const values: SqlValue[] = [];
  const test = (sql: string, value: SqlValue): void => {
    values.push(value);
    tests.push(`${sql} $${values.length}`);
  };
  if (below !== undefined) test("number <", below);
  else if (filter.before !== undefined) test("number <", (await mustFind(db, filter.before)).number);
  if (filter.status !== undefined) test(`${STATUS} =`, filter.status);
  if (filter.tenant !== undefined && filter.tenant !== "") tests.push("tenant <> ''"); // lets Postgres use the index
  if (filter.agent !== undefined) test("agent =", toText(filter.agent));
  if (filter.key !== undefined) test("key_name =", toName(filter.key));
  if (filter.tenant !== undefined) test("tenant =", toName(filter.tenant));
  if (filter.parent !== undefined) test("parent =", toName(filter.parent));
  const where = tests.length === 0 ? "" : `WHERE ${tests.join(" AND ")}`;
  const limit = Math.min(LIST_PAGE, left);
  values.push(limit);
  const rows = await db.all<SummaryRow>(`${SUMMARY} ${where} ORDER BY number DESC LIMIT $${values.length}`, ...values);
  const found = await toSummaries(db, rows, here);
  return { found, below: rows.length < limit || limit === left ? undefined : rows.at(-1)?.number };
}

export async function pending(db: Sql): Promise<readonly PendingSession[]> {
  const rows = await db.all<{ readonly id: string; readonly agent: string; readonly owner: string | null }>(
    `SELECT id, agent, owner FROM sessions WHERE damage IS NULL AND number IN (
       SELECT session FROM mail WHERE entry IS NOT NULL
       UNION SELECT number FROM sessions WHERE status = 'running'
     ) ORDER BY number`,
  );
  return rows.map(({ id, agent, owner }) => ({
    sessionId: fromText(id),
    agent: fromText(agent),
    ...(owner !== null && { owner: fromText(owner) }),
  }));
}

export async function remove(db: Sql, sessionId: string): Promise<void> {
  const number = (await find(db, sessionId, "lock"))?.number;
  if (number === undefined) return;
  await removeBlobs(db, number);
  const sql = `WITH a AS (DELETE FROM facts WHERE session = $1), b AS (DELETE FROM mail WHERE session = $1),
    c AS (DELETE FROM timers WHERE session = $1), d AS (DELETE FROM snapshots WHERE session = $1)
    DELETE FROM sessions WHERE number = $1`;
  await db.run(sql, number);
}

export async function moveKey(db: Sql, fromSessionId: string, toSessionId: string): Promise<void> {
  type KeyRow = {
    readonly name: string;
    readonly key: string | null;
    readonly key_name: string | null;
    readonly tenant: string;
  };
  const names = [toName(fromSessionId), toName(toSessionId)];
  const sql =
    "SELECT name, key, key_name, tenant FROM sessions WHERE name = ANY($1::text[]) ORDER BY number FOR UPDATE";
  const rows = await db.all<KeyRow>(sql, names);
  const [from, to] = names.map((name) => rows.find((row) => row.name === name));
  if (from === undefined) throw notFound(fromSessionId);
  if (to === undefined) throw notFound(toSessionId);
  const { key, key_name: keyName } = from;
  if (key === null || keyName === null || from === to) return;
  const holder = await holderOf(db, to.tenant, keyName);
  if (holder !== undefined && holder.id !== fromSessionId) {
    const message = `Session ${toSessionId} refused the write: its tenant has another session with the key`;
    throw new CapstanError("store-conflict", message);
  }
  await db.run("UPDATE sessions SET key = NULL, key_name = NULL WHERE name = $1", from.name);
  await db.run("UPDATE sessions SET key = $1, key_name = $2 WHERE name = $3", key, keyName, to.name);
}

async function holderOf(db: Sql, tenant: string, keyName: string): Promise<{ readonly id: string } | undefined> {
  const sql = "SELECT id FROM sessions WHERE tenant = $1 AND key_name = $2";
  const row = await db.get<{ readonly id: string }>(sql, tenant, keyName);
  return row && { id: fromText(row.id) };
}

async function toSummaries(
  db: Sql,
  rows: readonly SummaryRow[],
  here: ProcessPlace,
): Promise<readonly SessionSummary[]> {
  const holders = new Set(rows.flatMap(({ owner }) => (owner === null ? [] : [owner])));
  const alive = await living(db, [...holders], here);
  return rows.map((row) => {
    const key = row.key === null ? {} : { key: fromText(row.key) };
    const held = row.owner !== null && alive.has(row.owner) ? { held: true as const } : {};
    const own = { ...key, ...held, head: row.head, ...(row.damage !== null && { status: "quarantined" as const }) };
    return { ...(parseSummary(row) ?? emptySummary(row)), ...own };
  });
}

/** What can be said of a session whose own words are lost. */
function emptySummary({ id, agent }: SummaryRow): SessionSummary {
  const usage = { inputTokens: 0, outputTokens: 0 };
  const none = { queued: 0, openRequests: [], usage, createdAt: 0, updatedAt: 0, head: 0 };
  return { sessionId: fromText(id), agent: fromText(agent), ...none, status: "quarantined" };
}
