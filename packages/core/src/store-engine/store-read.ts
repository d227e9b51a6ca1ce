/** Reading a store in pages, and bytes by their hash. */

import type { LogSlice, Store } from "../ports/store.ts";
import { CapstanError } from "../words/errors.ts";
import type { Fact } from "../words/event.ts";
import { sha256 } from "../words/json.ts";
import { LIMITS } from "../words/limits.ts";

/** Every fact after `after`, page by page. */
export async function* readAll(store: Store, sessionId: string, { after = 0, types }: LogSlice): AsyncGenerator<Fact> {
  let position = after;
  for (;;) {
    const page = await store.read(sessionId, { after: position, ...(types !== undefined && { types }) });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < LIMITS.readPage) return;
    position = last.seq;
  }
}

/** Answers with the hash of the bytes. */
export async function saveBlob(store: Store, bytes: Uint8Array): Promise<string> {
  const hash = sha256(bytes);
  await store.putBlob(hash, bytes);
  return hash;
}

/** Throws `blob-missing`. */
export async function loadBlob(store: Store, hash: string): Promise<Uint8Array> {
  const bytes = await store.blob(hash);
  if (bytes !== undefined) return bytes;
  throw new CapstanError(
    "blob-missing",
    `The stored bytes ${hash.slice(0, 12)}... are missing from the store; restore them from a backup`,
  );
}
