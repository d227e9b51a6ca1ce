/** Rows of sessions: making, summaries, lists, reading, moving keys, removing. */

import { CapstanError } from "@capstan/core";
import type { Fact, NewSession, PendingSession, ReadFacts, SessionFilter, SessionSummary } from "@capstan/core";
import { removeBlobs } from "./blobs.ts";
import type { Database, SqlValue } from "./database.ts";
import { addFacts, readFacts, removeFacts } from "./facts.ts";
import { find, mustFind, parseSummary, quarantine, requireWhole, summaryText } from "./session-row.ts";
import { fromText, toText } from "./text.ts";

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

const SUMMARY = "SELECT number, id, agent, key, owner, head, status, summary, damage FROM sessions";
const STATUS = "CASE WHEN damage IS NULL THEN status ELSE 'quarantined' END";

export function create(db: Database, made: NewSession): { readonly sessionId: string; readonly created: boolean } {
  const { sessionId, key, tenant = "", facts, summary, copyOf } = made;
  if (find(db, sessionId) !== undefined) return { sessionId, created: false };
  if (key !== undefined) {
    const holder = holderOf(db, toText(tenant), toText(key));
    if (holder !== undefined) return { sessionId: fromText(holder), created: false };
  }
  if (copyOf !== undefined) mustFind(db, copyOf);
  const values = [sessionId, summary.agent, key, tenant, summary.parent].map((text) =>
    text === undefined ? null : toText(text),
  );
  db.run(
    "INSERT INTO sessions (id, agent, key, tenant, parent, status, epoch, head, summary) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?)",
    ...values,
    summary.status,
    facts.length,
    summaryText(summary),
  );
  addFacts(db, sessionId, mustFind(db, sessionId).number, 0, facts);
  return { sessionId, created: true };
}

export function read(db: Database, sessionId: string, options: ReadFacts): readonly Fact[] {
  const row = mustFind(db, sessionId);
  if (row.head === 0) requireWhole(row);
  return readFacts(db, sessionId, row.number, row.head, options);
}

/** Whether an owner, as its name stands in the table, can drive what it holds. */
type Lives = (owner: string) => boolean;

export function summary(db: Database, sessionId: string, lives: Lives): SessionSummary | undefined {
  const row = db.get<SummaryRow>(`${SUMMARY} WHERE id = ?`, toText(sessionId));
  return row && toSummary(row, lives);
}

/** Sessions of one page: what is read in one piece holds the thread. */
const LIST_PAGE = 1_000;

export type Page = {
  readonly found: readonly SessionSummary[];
  /** What to ask for next; `undefined` at the end. */
  readonly below: number | undefined;
};

/** At most `left` sessions, made before the one with the number `below`. */
export function list(db: Database, filter: SessionFilter, lives: Lives, below: number | undefined, left: number): Page {
  const { before } = filter;
  const tests: string[] = [];
  const values: SqlValue[] = [];
  const test = (sql: string, value: SqlValue): void => {
    tests.push(sql);
    values.push(value);
  };
  if (below !== undefined) test("number < ?", below);
  else if (before !== undefined) test("number < ?", mustFind(db, before).number);
  if (filter.status !== undefined) test(`${STATUS} = ?`, filter.status);
  if (filter.tenant !== undefined && filter.tenant !== "") tests.push("tenant <> ''"); // lets SQLite use the index
  for (const name of ["agent", "key", "tenant", "parent"] as const) {
    const value = filter[name];
    if (value !== undefined) test(`${name} = ?`, toText(value));
  }
  const where = tests.length === 0 ? "" : `WHERE ${tests.join(" AND ")}`;
  const limit = Math.min(LIST_PAGE, left);
  const rows = db.all<SummaryRow>(`${SUMMARY} ${where} ORDER BY number DESC LIMIT ?`, ...values, limit);
  const found = rows.map((row) => toSummary(row, lives));
  return { found, below: rows.length < limit || limit === left ? undefined : rows.at(-1)?.number };
}

export function pending(db: Database): readonly PendingSession[] {
  const rows = db.all<{ readonly id: string; readonly agent: string; readonly owner: string | null }>(
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

export function remove(db: Database, sessionId: string): void {
  const number = find(db, sessionId)?.number;
  if (number === undefined) return;
  removeFacts(db, number);
  removeBlobs(db, number);
  for (const table of ["mail", "timers", "snapshots"]) db.run(`DELETE FROM ${table} WHERE session = ?`, number);
  db.run("DELETE FROM sessions WHERE number = ?", number);
}

export function moveKey(db: Database, fromSessionId: string, toSessionId: string): void {
  const from = mustFind(db, fromSessionId).number;
  const to = mustFind(db, toSessionId).number;
  const key = db.get<{ readonly key: string | null }>("SELECT key FROM sessions WHERE number = ?", from)?.key ?? null;
  if (key === null || from === to) return;
  const tenant = db.get<{ readonly tenant: string }>("SELECT tenant FROM sessions WHERE number = ?", to)?.tenant ?? "";
  const holder = holderOf(db, tenant, key);
  if (holder !== undefined && holder !== toText(fromSessionId)) {
    const message = `Session ${toSessionId} refused the write: its tenant has another session with the key`;
    throw new CapstanError("store-conflict", message);
  }
  db.run("UPDATE sessions SET key = NULL WHERE number = ?", from);
  db.run("UPDATE sessions SET key = ? WHERE number = ?", key, to);
}

/** Stands for a session of which nothing is left, so that its absence shows. */
export function createLost(db: Database, sessionId: string, text: string): void {
  const made = create(db, { sessionId, facts: [], summary: emptySummary(sessionId, "") });
  if (made.created) quarantine(db, sessionId, text);
}

function holderOf(db: Database, tenant: string, key: string): string | undefined {
  return db.get<{ readonly id: string }>("SELECT id FROM sessions WHERE tenant = ? AND key = ?", tenant, key)?.id;
}

function toSummary(row: SummaryRow, lives: Lives): SessionSummary {
  const key = row.key === null ? {} : { key: fromText(row.key) };
  const held = row.owner !== null && lives(row.owner) ? { held: true as const } : {};
  const own = { ...key, ...held, head: row.head, ...(row.damage !== null && { status: "quarantined" as const }) };
  return { ...(parseSummary(row) ?? emptySummary(fromText(row.id), fromText(row.agent))), ...own };
}

/** What can be said of a session whose own words are lost. */
function emptySummary(sessionId: string, agent: string): SessionSummary {
  const usage = { inputTokens: 0, outputTokens: 0 };
  const none = { queued: 0, openRequests: [], usage, createdAt: 0, updatedAt: 0, head: 0 };
  return { sessionId, agent, ...none, status: "quarantined" };
}
