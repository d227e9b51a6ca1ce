/** Reading JSON that a provider sent: nothing about its shape is taken for granted. */

import type { Json } from "@capstan/core";

export type JsonObject = { readonly [key: string]: Json };

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Member of an object; undefined for anything else. */
export function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) ? value[name] : undefined;
}

export function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []; // isArray widens the members to any
}

export function stringOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** A whole count: 0 for everything that is none. */
export function countOf(value: Json | undefined): number {
  return isCount(value) ? Math.round(value) : 0;
}

export function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

/** The entry of a word that a provider sent; undefined for a word that the table does not have itself. */
export function lookUp<Value>(table: Readonly<Record<string, Value>>, word: Json | undefined): Value | undefined {
  return typeof word === "string" && Object.hasOwn(table, word) ? table[word] : undefined;
}

/** The value of a JSON text; undefined when it is none. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The input of a call: `{}` for none, and the raw text when it is not JSON, so that the call is refused and not guessed. */
export function parsedInput(text: string): Json {
  const trimmed = text.trim();
  return trimmed === "" || trimmed === "null" ? {} : (parseJson(text) ?? text);
}
