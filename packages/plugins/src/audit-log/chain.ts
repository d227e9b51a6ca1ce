/** Lines of an audit log: each names the hash of the one before it, so that none can be changed, moved or left out. Pure. */

import { createHash, createHmac } from "node:crypto";
import { canonicalJson, type Json } from "@capstan/core";

/** With a key nobody without it can write a line that holds; without one the chain shows mistakes, not forgers. */
export type AuditKey = string | Uint8Array;
export type AuditEntry = {
  readonly at: number;
  readonly session: string;
  /** Of the fact, in its session. 0 for what the log says of itself. */
  readonly seq: number;
  readonly agent: string;
  readonly type: string;
  readonly data: Json;
};
/** `n` is 1, 2, 3 ... in the file. */
export type AuditRecord = AuditEntry & { readonly n: number; readonly prev: string; readonly hash: string };
export type Link = { readonly n: number; readonly hash: string };

export const FIRST_LINK: Link = { n: 0, hash: "0".repeat(64) };
/** Says that bytes of an unfinished write stand in the line before. */
export const RECOVERED = "audit.recovered";

export function digest(text: string, key: AuditKey | undefined): string {
  return (key === undefined ? createHash("sha256") : createHmac("sha256", key)).update(text).digest("hex");
}

export function nextRecord(before: Link, entry: AuditEntry, key: AuditKey | undefined): AuditRecord {
  const record = { n: before.n + 1, ...entry, prev: before.hash };
  return { ...record, hash: digest(canonicalJson(record), key) };
}

export function lineOf(record: AuditRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/** Whether the record says what its hash was made of. */
export function isWhole({ hash, ...record }: AuditRecord, key: AuditKey | undefined): boolean {
  return digest(canonicalJson(record), key) === hash;
}

/** Undefined for what is no record. */
export function parseLine(line: string): AuditRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { n, at, session, seq, agent, type, data, prev, hash, ...more } = value as { readonly [name: string]: Json };
  const numbers = [n, at, seq].every((item) => Number.isSafeInteger(item));
  const texts = [session, agent, type, prev, hash].every((item) => typeof item === "string");
  if (!numbers || !texts || data === undefined || Object.keys(more).length > 0) return undefined;
  return value as AuditRecord; // checked above
}
