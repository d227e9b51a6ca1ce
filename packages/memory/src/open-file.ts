/** Opens the SQLite file of one scope: private, in a folder of its owner, or in memory; and its errors as ours. */

import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CapstanError, messageOf } from "@capstan/core";
import { MEMORY_LIMITS as LIMITS } from "./limits.ts";

export const IN_MEMORY = ":memory:";
const VERSION = 1;
/** Deleted texts are overwritten, also in the index of words: `secure_delete`, and the option of FTS5 of that name. */
const SCHEMA = `
  CREATE TABLE scope (id INTEGER PRIMARY KEY CHECK (id = 1), tenant TEXT NOT NULL, project TEXT NOT NULL) STRICT;
  CREATE TABLE entry (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, origin TEXT NOT NULL, session TEXT NOT NULL, labels TEXT NOT NULL,
    at INTEGER NOT NULL, evictable INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX entry_session ON entry (session);
  CREATE TABLE space (
    id INTEGER PRIMARY KEY CHECK (id = 1), model TEXT NOT NULL, dimensions INTEGER NOT NULL, UNIQUE (model, dimensions)
  ) STRICT;
  CREATE TABLE chunk (
    n INTEGER PRIMARY KEY AUTOINCREMENT, entry INTEGER NOT NULL REFERENCES entry (n), place INTEGER NOT NULL, text TEXT NOT NULL,
    vector BLOB, model TEXT, dimensions INTEGER,
    FOREIGN KEY (model, dimensions) REFERENCES space (model, dimensions),
    CHECK ((vector IS NULL) = (model IS NULL) AND (vector IS NULL OR length(vector) = 4 * dimensions))
  ) STRICT;
  CREATE INDEX chunk_entry ON chunk (entry);
  CREATE INDEX chunk_pending ON chunk (n) WHERE vector IS NULL;
  CREATE VIRTUAL TABLE words USING fts5(body, tokenize = 'porter unicode61 remove_diacritics 2');
  INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
  PRAGMA user_version = ${VERSION};
`;

/** Throws `store-readonly`, `store-damaged`, `store-newer` or `store-failed`. */
export function openFile(path: string, scope: { readonly tenant: string; readonly project: string }): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    if (path !== IN_MEMORY) makePrivate(path);
    db = new DatabaseSync(path, { timeout: LIMITS.busyMs, allowExtension: true });
    db.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA foreign_keys = ON",
    );
    prepare(db, path, scope);
    return db;
  } catch (error) {
    if (db?.isOpen === true) db.close();
    throw toMemoryError(error, path);
  }
}

function makePrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600)); // its side files take its mode
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    chmodSync(path, 0o600);
  }
}

function prepare(db: DatabaseSync, path: string, { tenant, project }: { tenant: string; project: string }): void {
  const version = (): number => Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);
  if (version() === 0) {
    db.exec("BEGIN IMMEDIATE"); // another process may be at it
    if (version() === 0) {
      db.exec(SCHEMA);
      db.prepare("INSERT INTO scope VALUES (1, ?, ?)").run(tenant, project);
    }
    db.exec("COMMIT");
  }
  if (version() > VERSION)
    throw new CapstanError("store-newer", `A newer version of Capstan wrote ${path}; it was left as it is`);
  const owner = db.prepare("SELECT tenant, project FROM scope").get();
  if (owner?.["tenant"] !== tenant || owner["project"] !== project)
    throw new CapstanError("store-damaged", `${path} is the memory of another tenant or project; move it away`);
}

/** Result codes of SQLite, https://www.sqlite.org/rescode.html */
const FULL = 13;
const UNWRITABLE: readonly number[] = [8, 14];
const DAMAGED: readonly number[] = [11, 26];

export function toMemoryError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || CapstanError.is(error)) return error;
  const said = messageOf(error);
  const code = "errcode" in error ? Number(error.errcode) & 0xff : undefined;
  if (code === undefined) {
    if (!("syscall" in error)) return error;
    return new CapstanError("store-readonly", `${path} cannot be made (${said}); check its folder`, { cause: error });
  }
  if (code === FULL)
    return new CapstanError("store-full", `There is no space left for ${path}`, { cause: error, retryable: true });
  if (UNWRITABLE.includes(code))
    return new CapstanError("store-readonly", `${path} cannot be written (${said})`, { cause: error });
  if (DAMAGED.includes(code))
    return new CapstanError("store-damaged", `${path} is damaged (${said}); move it away to start anew`, {
      cause: error,
    });
  const message = `${path} did not take the write (${said}); try again`;
  return new CapstanError("store-failed", message, { cause: error, retryable: true });
}
