/** The only file that touches `node:sqlite`: one connection with cached statements, and its errors as ours. */

import { statSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { CapstanError, messageOf } from "@capstan/core";
import { isFileError, lackOfFiles, unwritable } from "./file-errors.ts";

export type SqlValue = null | number | string | Uint8Array;

export interface Database {
  /** Runs statements that have no parameters. Not cached: for schema and pragmas. */
  exec(sql: string): void;
  /** Answers how many rows changed. */
  run(sql: string, ...values: readonly SqlValue[]): number;
  /** The first row. The caller states its type, which is that of the columns named in `sql`. */
  get<Row>(sql: string, ...values: readonly SqlValue[]): Row | undefined;
  all<Row>(sql: string, ...values: readonly SqlValue[]): readonly Row[];
  /** Rows one by one; the caller may stop early. */
  rows<Row>(sql: string, ...values: readonly SqlValue[]): Iterable<Row>;
  readonly inTransaction: boolean;
  close(): void;
}

export type DatabaseOptions = {
  /** How long SQLite itself waits for a lock, which blocks the thread. */
  readonly busyMs: number;
};

export type Connect = (path: string, options: DatabaseOptions) => Database;

/** How many connections of this process are open, by file. */
const connections = new Map<string, number>();

/**
 * Whether this process has the file open. Then nobody else here may open it: closing any handle of a file gives up all
 * locks that the process has on it, those of SQLite too. https://www.sqlite.org/howtocorrupt.html
 */
export function isOpenHere(path: string): boolean {
  return connections.has(fileOf(path));
}

function fileOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? path : `${stats.dev}/${stats.ino}`;
}

function count(file: string, by: 1 | -1): void {
  const open = (connections.get(file) ?? 0) + by;
  if (open === 0) connections.delete(file);
  else connections.set(file, open);
}

export function openDatabase(path: string, options: DatabaseOptions): Database {
  const db = new DatabaseSync(path, { timeout: options.busyMs });
  const file = fileOf(path);
  count(file, 1);
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = db.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
  return {
    exec: (sql) => db.exec(sql),
    run: (sql, ...values) => Number(prepare(sql).run(...values).changes),
    get: <Row>(sql: string, ...values: readonly SqlValue[]) => prepare(sql).get(...values) as Row | undefined,
    all: <Row>(sql: string, ...values: readonly SqlValue[]) =>
      prepare(sql).all(...values) as unknown[] as readonly Row[],
    rows: <Row>(sql: string, ...values: readonly SqlValue[]) => prepare(sql).iterate(...values) as Iterable<Row>,
    get inTransaction() {
      return db.isTransaction;
    },
    close() {
      statements.clear();
      if (!db.isOpen) return;
      db.close();
      count(file, -1);
    },
  };
}

/** Primary result codes of SQLite, https://www.sqlite.org/rescode.html */
export const SQLITE = {
  BUSY: 5,
  LOCKED: 6,
  READONLY: 8,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  CONSTRAINT: 19,
  NOTADB: 26,
} as const;

/** The primary result code when SQLite threw this. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return undefined;
  return error.errcode & 0xff;
}

/** An error of SQLite as one that the caller can act on; others pass unchanged. */
export function toStoreError(error: unknown, path: string): unknown {
  const code = sqliteCode(error);
  if (code === undefined) return isFileError(error) ? unwritable(path, error) : error;
  const said = messageOf(error);
  switch (code) {
    case SQLITE.FULL:
      return new CapstanError("store-full", `There is no space left for ${path}; free some and try again`, {
        cause: error,
        retryable: true,
      });
    case SQLITE.READONLY:
    case SQLITE.CANTOPEN: {
      const message = `${path} cannot be written (${said}); check its folder and permissions`;
      return lackOfFiles(path) ?? new CapstanError("store-readonly", message, { cause: error });
    }
    case SQLITE.CORRUPT:
    case SQLITE.NOTADB:
      return damagedStore(path, said, error);
    default: {
      const busy = code === SQLITE.BUSY || code === SQLITE.LOCKED;
      const why = busy ? "another process kept it locked" : said;
      return new CapstanError("store-failed", `${path} did not take the write (${why}); try again`, {
        cause: error,
        retryable: true,
      });
    }
  }
}

export function damagedStore(path: string, why: string, cause?: unknown): CapstanError {
  const message = `${path} is damaged (${why}); restore it from a backup, or move it and ${path}.anchor away to start anew`;
  return new CapstanError("store-damaged", message, { cause });
}
