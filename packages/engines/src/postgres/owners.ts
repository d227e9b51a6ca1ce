/** Rows of owners: which process each one is, its beat by the clock of the database, and whether that process still lives. */

import { LIMITS, type OwnerState } from "@capstan/core";
import { isAlive, type ProcessPlace } from "../sqlite/owners.ts";
import type { Sql } from "./connection.ts";
import { fromText, toText } from "./text.ts";

type OwnerRow = ProcessPlace & { readonly owner: string; readonly beat: number; readonly age: number };

const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
/** Owners of other machines that hold nothing and said nothing for so long are forgotten. */
const FORGOTTEN_MS = 86_400_000;
const COLUMNS = `owner, pid, host, boot, started, beat, ${NOW} - beat AS age`;
/** The beat moves also when the clock does not. */
const REGISTER = `INSERT INTO owners (owner, pid, host, boot, started, beat) VALUES ($1, $2, $3, $4, $5, ${NOW})
  ON CONFLICT (owner) DO UPDATE SET pid = $2, host = $3, boot = $4, started = $5, beat = greatest(${NOW}, owners.beat + 1)`;

/** Registers an owner, and forgets dead ones that hold nothing. */
export async function register(db: Sql, owner: string, here: ProcessPlace): Promise<void> {
  const dead = (await db.all<OwnerRow>(`SELECT ${COLUMNS} FROM owners`)).filter(
    (row) => lifeOf(row, here) === false || row.age > FORGOTTEN_MS,
  );
  const sql = `DELETE FROM owners WHERE owner = ANY($1::text[])
    AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.owner = owners.owner)`;
  if (dead.length > 0)
    await db.run(
      sql,
      dead.map((row) => row.owner),
    );
  await beat(db, owner, here);
}

export async function beat(db: Sql, owner: string, { pid, host, boot, started }: ProcessPlace): Promise<void> {
  await db.run(REGISTER, toText(owner), pid, toText(host), boot, started);
}

export async function unregister(db: Sql, owners: Iterable<string>): Promise<void> {
  await db.run("DELETE FROM owners WHERE owner = ANY($1::text[])", [...owners].map(toText));
}

/** Who holds sessions without being registered has closed its store: as good as dead. */
export async function owners(db: Sql, here: ProcessPlace): Promise<readonly OwnerState[]> {
  const known = await db.all<OwnerRow>(`SELECT ${COLUMNS} FROM owners ORDER BY owner`);
  const gone = await db.all<{ readonly owner: string }>(
    "SELECT DISTINCT owner FROM sessions WHERE owner IS NOT NULL AND owner NOT IN (SELECT owner FROM owners)",
  );
  return [
    ...known.map((row) => ({ owner: fromText(row.owner), beat: row.beat, alive: lifeOf(row, here) })),
    ...gone.map(({ owner }) => ({ owner: fromText(owner), beat: 0, alive: false })),
  ];
}

/** Those of the named owners that live, or of which only the beat can tell and is young. */
export async function living(db: Sql, names: readonly string[], here: ProcessPlace): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const rows = await db.all<OwnerRow>(`SELECT ${COLUMNS} FROM owners WHERE owner = ANY($1::text[])`, names);
  const alive = rows.filter((row) => lifeOf(row, here) ?? Math.abs(row.age) < LIMITS.takeoverMs);
  return new Set(alive.map(({ owner }) => owner));
}

/**
 * Machines that share a database may share a name too: only the same boot of the same one is looked at. `undefined` when
 * only the beat can tell.
 */
function lifeOf(row: OwnerRow, here: ProcessPlace): boolean | undefined {
  const [boot = ""] = row.boot.split(" ");
  const [ownBoot = ""] = here.boot.split(" ");
  return boot === "" || boot !== ownBoot ? undefined : isAlive(row, here);
}
