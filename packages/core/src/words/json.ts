/** JSON as a type, canonical text and hashing: what facts, inputs and keys are made of. */

import { hash } from "node:crypto";

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
  return hash("sha256", data);
}

/** SHA-256 in hex of the canonical text: equal values, equal hash, whatever the order of their keys. */
export function hashJson(value: Json): string {
  return sha256(canonicalJson(value));
}

/** A deep copy of plain data: what one side does to it, the other does not see. */
export function copyJson<T extends Json>(value: T): T {
  if (value === null || typeof value !== "object") return value;
  if (isArray(value)) return value.map((item) => copyJson(item)) as Json as T; // the same shape, item by item
  const copy: { [key: string]: Json } = {};
  for (const name of Object.keys(value)) {
    const member = (value as { readonly [key: string]: Json })[name]; // an object that is no array
    if (member === undefined) continue;
    if (name === "__proto__") Object.defineProperty(copy, name, { value: copyJson(member), enumerable: true });
    else copy[name] = copyJson(member);
  }
  return copy as Json as T;
}

/**
 * What code gave as plain data, a copy: what is recorded is what it goes on with, now and after a restart. What JSON does
 * not know becomes null or is left out; what it cannot write (a cycle, a BigInt) throws an `Error` that begins with `what`.
 */
export function toJson(what: string, value: unknown): Json {
  try {
    return value === undefined ? null : (JSON.parse(JSON.stringify(value) ?? "null") as Json); // its own output
  } catch (cause) {
    throw new Error(`${what} something that cannot be written as JSON`, { cause });
  }
}

/** Deeper than this nothing is taken from outside: what is written must be read again by code that calls itself. */
const MAX_DEPTH = 256;

/** Whether the log can keep the value as it is: nothing that JSON has no word for, no code, no cycle, not too deep. */
export function isPlainJson(value: unknown, depth = 0): value is Json {
  if (typeof value === "number") return Number.isFinite(value);
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value !== "object" || depth >= MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isPlainJson(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return false;
  return Object.values(value).every((member) => member === undefined || isPlainJson(member, depth + 1));
}

/** `Array.isArray` that keeps the element type of a readonly array. */
export function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
