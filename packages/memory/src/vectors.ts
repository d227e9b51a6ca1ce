/** Cosine of stored vectors: by the SQLite extension sqlite-vec where it can be loaded, else in JavaScript. */

import type { DatabaseSync } from "node:sqlite";

/** Of vectors of length 1, as the bytes that SQLite stores. */
export type Cosine = "sqlite-vec" | "javascript";

let extension: Promise<string | undefined> | undefined;

/** The file of the extension, looked for once; undefined on systems that it is not built for. */
export function vectorExtension(): Promise<string | undefined> {
  extension ??= import("sqlite-vec").then(
    ({ getLoadablePath }) => getLoadablePath(),
    () => undefined,
  );
  return extension.catch(() => undefined);
}

/** Defines the SQL function `cosine(vector, vector)`. The connection must allow extensions; afterwards it loads no more. */
export function defineCosine(db: DatabaseSync, path: string | undefined): Cosine {
  const loaded = path !== undefined && loads(db, path);
  db.enableLoadExtension(false);
  if (loaded) return "sqlite-vec";
  db.function("cosine", { deterministic: true, directOnly: true }, (left, right) => {
    return left instanceof Uint8Array && right instanceof Uint8Array ? dot(fromBytes(left), fromBytes(right)) : null;
  });
  return "javascript";
}

function loads(db: DatabaseSync, path: string): boolean {
  try {
    db.loadExtension(path);
    return true;
  } catch {
    return false; // built for another system
  }
}

export function toBytes(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** A copy where the bytes do not lie on a boundary of four. */
function fromBytes(bytes: Uint8Array): Float32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Float32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength >> 2);
}

function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index++) sum += (left[index] ?? 0) * (right[index] ?? 0);
  return sum;
}
