/** Rows of blobs: bytes by their SHA-256, kept while a session names them or until they are named for the first time. */

import { CapstanError, LIMITS, sha256 } from "@capstan/core";
import type { Database } from "./database.ts";

export function checkBlob(bytes: Uint8Array): void {
  if (bytes.length <= LIMITS.blobBytes) return;
  throw new CapstanError("blob-too-large", `A blob holds at most ${LIMITS.blobBytes} bytes, not ${bytes.length}`);
}

export function putBlob(db: Database, hash: string, bytes: Uint8Array): void {
  if (db.run("UPDATE blobs SET unnamed = unnamed + 1 WHERE hash = ?", hash) === 1) return;
  db.run("INSERT INTO blobs (hash, unnamed, bytes) VALUES (?, 1, ?)", hash, bytes);
}

/** Throws `store-damaged` when the bytes are not those that were put. */
export function blob(db: Database, hash: string): Uint8Array | undefined {
  const row = db.get<{ readonly bytes: Uint8Array }>("SELECT bytes FROM blobs WHERE hash = ?", hash);
  if (row === undefined) return undefined;
  if (sha256(row.bytes) === hash) return row.bytes;
  throw new CapstanError("store-damaged", `The blob ${hash} was altered on disk; restore the store from a backup`);
}

/** Forgets what the session names, and what nothing else names or is about to name. */
export function removeBlobs(db: Database, session: number): void {
  const names = db.all<{ readonly hash: string }>("SELECT hash FROM blob_names WHERE session = ?", session);
  db.run("DELETE FROM blob_names WHERE session = ?", session);
  for (const { hash } of names) {
    const sql =
      "DELETE FROM blobs WHERE hash = ? AND unnamed = 0 AND NOT EXISTS (SELECT 1 FROM blob_names WHERE hash = ?)";
    db.run(sql, hash, hash);
  }
}
