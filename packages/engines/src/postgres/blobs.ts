/** Rows of blobs: bytes by their SHA-256, kept while a session names them or until they are named for the first time. */

import { CapstanError, LIMITS, sha256 } from "@capstan/core";
import type { Sql } from "./connection.ts";

export function checkBlob(bytes: Uint8Array): void {
  if (bytes.length <= LIMITS.blobBytes) return;
  throw new CapstanError("blob-too-large", `A blob holds at most ${LIMITS.blobBytes} bytes, not ${bytes.length}`);
}

export async function putBlob(db: Sql, hash: string, bytes: Uint8Array): Promise<void> {
  if ((await db.run("UPDATE blobs SET unnamed = unnamed + 1 WHERE hash = $1", hash)) === 1) return;
  const sql = `INSERT INTO blobs (hash, unnamed, bytes) VALUES ($1, 1, $2)
    ON CONFLICT (hash) DO UPDATE SET unnamed = blobs.unnamed + 1`;
  await db.run(sql, hash, bytes);
}

/** Throws `store-damaged` when the bytes are not those that were put. */
export async function blob(db: Sql, hash: string): Promise<Uint8Array | undefined> {
  const row = await db.get<{ readonly bytes: Uint8Array }>("SELECT bytes FROM blobs WHERE hash = $1", hash);
  if (row === undefined) return undefined;
  if (sha256(row.bytes) === hash) return row.bytes;
  throw new CapstanError("store-damaged", `The blob ${hash} was altered in the database; restore it from a backup`);
}

/** Forgets what the session names, and what nothing else names or is about to name. */
export async function removeBlobs(db: Sql, session: number): Promise<void> {
  const names = await db.all<{ readonly hash: string }>(
    "DELETE FROM blob_names WHERE session = $1 RETURNING hash",
    session,
  );
  if (names.length === 0) return;
  const hashes = names.map(({ hash }) => hash).toSorted();
  // whoever names one of them now is waited for here; the statement after this sees what it wrote
  await db.run("SELECT 1 FROM blobs WHERE hash = ANY($1::text[]) ORDER BY hash FOR UPDATE", hashes);
  const sql = `DELETE FROM blobs WHERE hash = ANY($1::text[]) AND unnamed = 0
    AND NOT EXISTS (SELECT 1 FROM blob_names WHERE blob_names.hash = blobs.hash)`;
  await db.run(sql, hashes);
}
