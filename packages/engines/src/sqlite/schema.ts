/** Tables, their version, and opening: what is refused, what is created, what is migrated. */

import { CapstanError } from "@capstan/core";
import { damagedStore, toStoreError, type Connect, type Database } from "./database.ts";
import { prepareFiles, sizeOf, type Found } from "./files.ts";

/** "Caps" in ASCII: marks the file as ours. */
const APPLICATION_ID = 0x43617073;
/** The first version that was released. */
const FIRST = 2;
/** What leads from version `FIRST + n` to the next, by index. None yet. */
const MIGRATIONS: readonly Migration[] = [];
const VERSION: number = FIRST + MIGRATIONS.length;
/** SQLite's own wait while opening; later waits do not block the thread for long. */
const OPEN_BUSY_MS = 5_000;
/** Files up to this size are checked whole when they are opened: a few milliseconds. */
const CHECKED_BYTES = 8 * 1024 * 1024;

/** 8 MB of log: pages that many commits share are copied once, and no copy holds the thread for long. */
const CHECKPOINT_PAGES = 2_000;

/** What is left of the log when it is begun anew. */
export const WAL_BYTES = 67_108_864;

export type Migration = (db: Database) => void;

/**
 * A row of facts holds those of one append as a JSON array and is found by `session * FACTS_PER_SESSION + seq` of its last
 * one, which keeps a session's facts together in one B-tree by number. `checksum` is CRC-32 over the number and the body.
 */
const TABLES = `
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, key TEXT,
  tenant TEXT NOT NULL, parent TEXT, status TEXT NOT NULL, owner TEXT, epoch INTEGER NOT NULL,
  head INTEGER NOT NULL, summary TEXT NOT NULL, damage TEXT
);
CREATE UNIQUE INDEX sessions_key ON sessions (tenant, key) WHERE key IS NOT NULL;
CREATE INDEX sessions_tenant ON sessions (tenant) WHERE tenant <> '';
CREATE INDEX sessions_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_owner ON sessions (owner) WHERE owner IS NOT NULL;
CREATE INDEX sessions_active ON sessions (status) WHERE status = 'running';
CREATE TABLE facts (id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE mail (
  session INTEGER NOT NULL, position INTEGER NOT NULL, key TEXT, digest TEXT, accepted TEXT, input INTEGER NOT NULL,
  checksum INTEGER NOT NULL, entry TEXT, PRIMARY KEY (session, position)
) WITHOUT ROWID;
CREATE UNIQUE INDEX mail_key ON mail (session, key) WHERE key IS NOT NULL;
CREATE INDEX mail_unread ON mail (session) WHERE entry IS NOT NULL;
CREATE TABLE timers (
  session INTEGER NOT NULL, name TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (session, name)
) WITHOUT ROWID;
CREATE INDEX timers_at ON timers (at);
CREATE TABLE snapshots (
  session INTEGER PRIMARY KEY, seq INTEGER NOT NULL, version INTEGER NOT NULL, checksum INTEGER NOT NULL, data TEXT NOT NULL
);
CREATE TABLE owners (
  owner TEXT PRIMARY KEY, pid INTEGER NOT NULL, host TEXT NOT NULL, boot TEXT NOT NULL, started TEXT NOT NULL, beat INTEGER NOT NULL
);
CREATE TABLE blobs (hash TEXT PRIMARY KEY, unnamed INTEGER NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE blob_names (session INTEGER NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (session, hash)) WITHOUT ROWID;
CREATE INDEX blob_names_hash ON blob_names (hash);
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO meta VALUES ('barrier', 0);
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${VERSION};
`;

export type OpenOptions = {
  readonly path: string;
  readonly anchorPath: string;
  /** SQLite's own wait for a lock once the store is open. */
  readonly busyMs: number;
  readonly connect: Connect;
  /** Refuses to make a new store: this one was open before. */
  readonly mustExist: boolean;
};

/** An open, checked database in WAL mode. Throws typed errors; a file that is refused is not changed. */
export function openStore(options: OpenOptions): Database {
  const { path } = options;
  if (options.mustExist && (sizeOf(path) ?? 0) === 0) throw damagedStore(path, "it vanished while it was in use");
  refuseForeign(path, prepareFiles(path, options.anchorPath));
  let db: Database | undefined;
  try {
    db = options.connect(path, { busyMs: OPEN_BUSY_MS });
    bringUp(db, path);
    checkWhole(db, path);
    db.exec(`PRAGMA busy_timeout = ${options.busyMs}`);
    return db;
  } catch (error) {
    db?.close();
    throw toStoreError(error, path);
  }
}

/** Backs up to `<path>.v<from>.backup`, then migrates in one transaction. */
export function migrate(db: Database, path: string, migrations: readonly Migration[]): void {
  const from = versionOf(db);
  if (from === FIRST + migrations.length) return;
  db.exec(`VACUUM INTO '${`${path}.v${from}.backup`.replaceAll("'", "''")}'`);
  db.exec("BEGIN IMMEDIATE");
  try {
    for (const step of migrations.slice(versionOf(db) - FIRST)) step(db);
    db.exec(`PRAGMA user_version = ${FIRST + migrations.length}`);
    db.exec("COMMIT");
  } catch (error) {
    if (db.inTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

function refuseForeign(path: string, found: Found): void {
  if (found === "nothing" || found === "known") return;
  const { applicationId, version } = found;
  if (applicationId === APPLICATION_ID && version > VERSION) {
    const message = `${path} was written by a newer Capstan (schema ${version}, this one knows ${VERSION}); it was not changed. Update Capstan`;
    throw new CapstanError("store-newer", message);
  }
  if (applicationId === APPLICATION_ID && version >= FIRST) return;
  if (applicationId === 0 && version === 0) return; // perhaps a creation that was cut short; SQLite tells
  throw damagedStore(path, "it is an SQLite file that no release of Capstan wrote");
}

function bringUp(db: Database, path: string): void {
  if (versionOf(db) === 0) create(db, path);
  db.exec("PRAGMA journal_mode = WAL");
  db.exec(`PRAGMA journal_size_limit = ${WAL_BYTES}`);
  db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  migrate(db, path, MIGRATIONS);
}

function create(db: Database, path: string): void {
  db.exec("BEGIN IMMEDIATE"); // looks while nobody writes; what is refused stays as it is
  const foreign = versionOf(db) === 0 && hasTables(db);
  db.exec("ROLLBACK");
  if (foreign) throw damagedStore(path, "it is an SQLite file that Capstan did not write");
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL");
  db.exec("BEGIN IMMEDIATE");
  if (versionOf(db) === 0) db.exec(TABLES); // another process may have been faster
  db.exec("COMMIT");
}

function checkWhole(db: Database, path: string): void {
  if ((sizeOf(path) ?? 0) > CHECKED_BYTES) return;
  const row = db.get<{ readonly quick_check: string }>("PRAGMA quick_check(1)");
  if (row !== undefined && row.quick_check !== "ok") throw damagedStore(path, row.quick_check);
}

function hasTables(db: Database): boolean {
  return (db.get<{ readonly n: number }>("SELECT count(*) AS n FROM sqlite_schema")?.n ?? 0) > 0;
}

function versionOf(db: Database): number {
  return db.get<{ readonly user_version: number }>("PRAGMA user_version")?.user_version ?? 0;
}
