/** Tables, their version, and opening: what is refused, what is created, what is migrated. */

import { CapstanError } from "@capstan/core";
import type { Connection } from "./connection.ts";

/**
 * A row of facts holds those of one append as a JSON array under the number of its last one. `name` and `key_name` are
 * what ids and keys are found by. Room is left in pages of sessions, so that a new head stays on its page.
 */
const TABLES = `
CREATE TABLE sessions (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, id text NOT NULL, agent text NOT NULL,
  key_name text, key text, tenant text NOT NULL, parent text, status text NOT NULL, owner text, epoch bigint NOT NULL,
  head bigint NOT NULL, mailed bigint NOT NULL, summary text NOT NULL, damage text
) WITH (fillfactor = 60);
CREATE UNIQUE INDEX sessions_key ON sessions (tenant, key_name) WHERE key_name IS NOT NULL;
CREATE INDEX sessions_tenant ON sessions (tenant) WHERE tenant <> '';
CREATE INDEX sessions_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_running ON sessions (number) WHERE status = 'running';
CREATE TABLE facts (
  session bigint NOT NULL, last bigint NOT NULL, checksum bigint NOT NULL, body text NOT NULL, PRIMARY KEY (session, last)
);
CREATE TABLE mail (
  session bigint NOT NULL, position bigint NOT NULL, key text, digest text, accepted text, input boolean NOT NULL,
  checksum bigint NOT NULL, entry text, PRIMARY KEY (session, position)
);
CREATE UNIQUE INDEX mail_key ON mail (session, key) WHERE key IS NOT NULL;
CREATE INDEX mail_unread ON mail (session, position) WHERE entry IS NOT NULL;
CREATE TABLE timers (session bigint NOT NULL, name text NOT NULL, at bigint NOT NULL, PRIMARY KEY (session, name));
CREATE INDEX timers_at ON timers (at);
CREATE TABLE snapshots (
  session bigint PRIMARY KEY, seq bigint NOT NULL, version integer NOT NULL, checksum bigint NOT NULL, data text NOT NULL
);
CREATE TABLE owners (
  owner text PRIMARY KEY, pid bigint NOT NULL, host text NOT NULL, boot text NOT NULL, started text NOT NULL, beat bigint NOT NULL
);
CREATE TABLE blobs (hash text PRIMARY KEY, unnamed integer NOT NULL, bytes bytea NOT NULL);
CREATE TABLE blob_names (session bigint NOT NULL, hash text NOT NULL, PRIMARY KEY (session, hash));
CREATE INDEX blob_names_hash ON blob_names (hash);
CREATE TABLE barrier (value bigint NOT NULL);
INSERT INTO barrier VALUES (0);
`;

/** What leads from version `n` to `n + 1`, by index: the first one makes the tables. */
const MIGRATIONS: readonly string[] = [TABLES];
/** Of the lock under which one process at a time migrates; "caps" in ASCII. */
const LOCK = 0x63617073;

/** Brings the store up to this version, and refuses one that is newer or not ours without changing it. */
export async function openSchema(db: Connection, schema: string, place: string): Promise<void> {
  if ((await versionOf(db, schema, place)) === MIGRATIONS.length) return;
  await db.exec(`BEGIN; SELECT pg_advisory_xact_lock(${LOCK})`);
  try {
    const version = await versionOf(db, schema, place); // another process may have been faster
    if (!(await hasSchema(db, schema))) await db.exec(`CREATE SCHEMA "${schema}"`);
    if (version === 0) await db.exec("CREATE TABLE migrations (version integer PRIMARY KEY, at timestamptz NOT NULL)");
    for (const [index, step] of MIGRATIONS.entries()) {
      if (index < version) continue;
      await db.exec(step);
      await db.run("INSERT INTO migrations VALUES ($1, now())", index + 1);
    }
    await db.exec("COMMIT");
  } catch (error) {
    if (!db.broken) await db.exec("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

async function hasSchema(db: Connection, schema: string): Promise<boolean> {
  return (await db.get("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", schema)) !== undefined;
}

/** 0 when there is nothing yet. */
async function versionOf(db: Connection, schema: string, place: string): Promise<number> {
  const tables = await db.all<{ readonly name: string }>(
    "SELECT table_name::text AS name FROM information_schema.tables WHERE table_schema = $1",
    schema,
  );
  if (tables.length === 0) return 0;
  if (!tables.some(({ name }) => name === "migrations")) {
    const message = `The schema "${schema}" of ${place} has tables that Capstan did not make; give the store a schema of its own`;
    throw new CapstanError("store-damaged", message);
  }
  const row = await db.get<{ readonly version: number | null }>("SELECT max(version) AS version FROM migrations");
  const version = row?.version ?? 0;
  if (version <= MIGRATIONS.length) return version;
  const message = `${place} was written by a newer Capstan (schema ${version}, this one knows ${MIGRATIONS.length}); it was not changed. Update Capstan`;
  throw new CapstanError("store-newer", message);
}
