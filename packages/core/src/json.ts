/** JSON as a type, canonical text and hashing: what facts, inputs and keys are made of. */

import { createHash } from "node:crypto";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** JSON text with object keys sorted, so that equal values have equal text. `undefined` members are dropped. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  const members: string[] = [];
  for (const name of Object.keys(value).toSorted()) {
    const member = value[name];
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${canonicalJson(member)}`);
  }
  return `{${members.join(",")}}`;
}

/** SHA-256 in hex of a text or of bytes. */
export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** SHA-256 in hex of the canonical text: equal values, equal hash, whatever the order of their keys. */
export function hashJson(value: Json): string {
  return sha256(canonicalJson(value));
}

/** `Array.isArray` that keeps the element type of a readonly array. */
export function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
