/** Where a log ends, beside the log: the number, hash and size of what was written, and the lock that lets one write at a time. */

import { DatabaseSync } from "node:sqlite";
import { chmodSync } from "node:fs";
import { type AuditKey, digest, FIRST_LINK, type Link } from "./chain.ts";

export type Head = Link & { readonly bytes: number };
type Row = { readonly n: number; readonly hash: string; readonly bytes: number; readonly mac: string };

/** How long SQLite waits for a lock, which blocks the thread. */
const BUSY_MS = 20;
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS head (id INTEGER PRIMARY KEY CHECK (id = 1), n INTEGER NOT NULL, hash TEXT NOT NULL, bytes INTEGER NOT NULL, mac TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

export function headPath(log: string): string {
  return `${log}.head`;
}

export class HeadDatabase {
  readonly #db: DatabaseSync;

  constructor(log: string, options: { readonly readOnly?: boolean } = {}) {
    this.#db = new DatabaseSync(headPath(log), { timeout: BUSY_MS, readOnly: options.readOnly === true });
    if (options.readOnly !== true) chmodSync(headPath(log), 0o600);
  }

  /** False while another writer, here or in another process, is at it. */
  begin(): boolean {
    try {
      this.#db.exec("BEGIN IMMEDIATE");
      this.#db.exec(SCHEMA);
      return true;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      if (isBusy(error)) return false;
      throw error;
    }
  }

  /** The head that was committed; `isTrue` is false when it does not fit the key. */
  head(key: AuditKey | undefined): { readonly head: Head; readonly isTrue: boolean } | undefined {
    const row = this.#db.prepare("SELECT n, hash, bytes, mac FROM head WHERE id = 1").get() as Row | undefined; // of the schema
    if (row === undefined) return undefined;
    const { mac, ...head } = row;
    return { head, isTrue: mac === macOf(head, key) };
  }

  /** The newest fact of a session that is in the log. 0 when there is none. */
  seqOf(session: string): number {
    const row = this.#db.prepare("SELECT seq FROM sessions WHERE id = ?").get(session) as { seq: number } | undefined; // of the schema
    return row?.seq ?? 0;
  }

  setSeq(session: string, seq: number): void {
    this.#db
      .prepare("INSERT INTO sessions VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seq = max(seq, excluded.seq)")
      .run(session, seq);
  }

  commit(head: Head, key: AuditKey | undefined): void {
    const { n, hash, bytes } = head;
    this.#db.prepare("INSERT OR REPLACE INTO head VALUES (1, ?, ?, ?, ?)").run(n, hash, bytes, macOf(head, key));
    this.#db.exec("COMMIT");
  }

  rollback(): void {
    if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }
}

export const NO_HEAD: Head = { ...FIRST_LINK, bytes: 0 };

function macOf({ n, hash, bytes }: Head, key: AuditKey | undefined): string {
  return digest(`head ${n} ${hash} ${bytes}`, key);
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && (Number(error.errcode) & 0xff) === 5;
}
