/** Rows of timers, which become mail when they are due. */

import type { Append } from "@capstan/core";
import type { Sql } from "./connection.ts";
import { mailChecksum } from "./mail.ts";
import { fromText, toText } from "./text.ts";

/** Timers that are moved in one transaction: more would keep the rows of many sessions locked. */
const TIMERS_AT_ONCE = 500;

const SET = `INSERT INTO timers (session, name, at) SELECT $1, timer.name, timer.at
  FROM unnest($2::text[], $3::bigint[]) AS timer (name, at) ON CONFLICT (session, name) DO UPDATE SET at = excluded.at`;

/** Of several with one name the last counts. */
export async function setTimers(db: Sql, session: number, timers: NonNullable<Append["timers"]>): Promise<void> {
  const last = new Map(timers.map(({ name, at }) => [toText(name), at]));
  const set = [...last].flatMap(([name, at]) => (at === undefined ? [] : [{ name, at }]));
  const cancelled = [...last].flatMap(([name, at]) => (at === undefined ? [name] : []));
  if (cancelled.length > 0)
    await db.run("DELETE FROM timers WHERE session = $1 AND name = ANY($2::text[])", session, cancelled);
  if (set.length === 0) return;
  await db.run(
    SET,
    session,
    set.map(({ name }) => name),
    set.map(({ at }) => at),
  );
}

/** When the next timer is due. Timers of a session in quarantine stay where they are. */
export async function nextDue(db: Sql): Promise<number | undefined> {
  const sql = `SELECT at FROM timers JOIN sessions ON sessions.number = timers.session WHERE damage IS NULL
    ORDER BY at LIMIT 1`;
  return (await db.get<{ readonly at: number }>(sql))?.at;
}

type Mailbox = { readonly number: number; readonly mailed: number };
type Due = { readonly session: number; readonly name: string; readonly at: number };

/** The sessions are locked before their timers are looked at again: another process may have moved them meanwhile. */
const LOCK = `SELECT number, mailed FROM sessions WHERE damage IS NULL AND number IN (
    SELECT session FROM (SELECT session FROM timers JOIN sessions ON number = session WHERE at <= $1 AND damage IS NULL
      ORDER BY at, session LIMIT ${TIMERS_AT_ONCE}) due
  ) ORDER BY number FOR UPDATE`;
const TAKE = `DELETE FROM timers WHERE (session, name) IN (
    SELECT session, name FROM timers WHERE session = ANY($1::bigint[]) AND at <= $2 ORDER BY at, session LIMIT ${TIMERS_AT_ONCE}
  ) RETURNING session, name, at`;
const POST = `WITH posted AS (
    INSERT INTO mail (session, position, input, checksum, entry) SELECT row.session, row.position, false, row.checksum, row.entry
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) AS row (session, position, checksum, entry)
    RETURNING session, position
  ) UPDATE sessions SET mailed = last FROM (SELECT session, max(position) AS last FROM posted GROUP BY session) moved
  WHERE number = session`;

/** Moves the first of those that are due. Answers whether there were any. */
export async function fireTimers(db: Sql, now: number): Promise<boolean> {
  const boxes = await db.all<Mailbox>(LOCK, now);
  if (boxes.length === 0) return false;
  const due = await db.all<Due>(
    TAKE,
    boxes.map(({ number }) => number),
    now,
  );
  const mailed = new Map(boxes.map(({ number, mailed: last }) => [number, last]));
  const posts = due
    .toSorted((a, b) => a.at - b.at)
    .map(({ session, name }) => {
      const position = (mailed.get(session) ?? 0) + 1;
      mailed.set(session, position);
      const actor = { id: "timer", door: "store" };
      const own = fromText(name);
      const entry = JSON.stringify({ actor, type: "timer", name: own, key: `timer/${own}/${position}` });
      return { session, position, entry, checksum: mailChecksum(position, entry) };
    });
  if (posts.length === 0) return false;
  const column = <T>(of: (post: (typeof posts)[number]) => T): readonly T[] => posts.map(of);
  await db.run(
    POST,
    column(({ session }) => session),
    column(({ position }) => position),
    column(({ checksum }) => checksum),
    column(({ entry }) => entry),
  );
  return true;
}
