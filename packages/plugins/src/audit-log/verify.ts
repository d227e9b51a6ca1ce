/** Reads an audit log from its first line to its last and says what does not hold. */

import { createReadStream, existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { CapstanError } from "@capstan/core";
import {
  type AuditKey,
  type AuditRecord,
  digest,
  FIRST_LINK,
  isWhole,
  type Link,
  parseLine,
  RECOVERED,
} from "./chain.ts";
import { type Head, HeadDatabase, headPath } from "./head-database.ts";

export type AuditProblem = {
  readonly code:
    | "not-a-record"
    | "hash-mismatch"
    | "chain-broken"
    | "session-order"
    | "truncated"
    | "unfinished"
    | "head-missing"
    | "head-mismatch"
    | "expected-missing";
  /** From 1; 0 where it is the log as a whole. */
  readonly line: number;
  readonly message: string;
};
export type AuditReport = {
  readonly ok: boolean;
  readonly records: number;
  readonly sessions: number;
  /** The last record: kept elsewhere, it shows later that nothing before it was taken away. */
  readonly head: Link;
  /** The first ones. */
  readonly problems: readonly AuditProblem[];
};
export type VerifyOptions = {
  readonly key?: AuditKey;
  /** A head that was noted earlier. */
  readonly expect?: Link;
};

const MAX_PROBLEMS = 100;
const MAX_LINE_BYTES = 8 * 1_024 * 1_024;

/** Changes nothing. Throws `path-not-found`. */
export async function verifyAuditLog(path: string, { key, expect }: VerifyOptions = {}): Promise<AuditReport> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true)
    throw new CapstanError("path-not-found", `There is no audit log ${JSON.stringify(path)}`);
  const head = readHead(path, key); // before the lines: what is written meanwhile stands behind it
  const reader = new Verifier(key, expect);
  for await (const line of linesOf(path)) reader.take(line);
  return reader.report(head);
}

type FoundHead = { readonly head: Head; readonly isTrue: boolean } | undefined;

class Verifier {
  readonly #key: AuditKey | undefined;
  readonly #expect: Link | undefined;
  readonly #problems: AuditProblem[] = [];
  readonly #seqs = new Map<string, number>();
  #link: Link = FIRST_LINK;
  #line = 0;
  #records = 0;
  readonly #hashes = new Map<number, string>();
  /** A line that is no record: forgiven when the next one says that a crash left it. */
  #torn: { readonly line: number; readonly text: string } | undefined;
  #met = false;

  constructor(key: AuditKey | undefined, expect: Link | undefined) {
    this.#key = key;
    this.#expect = expect;
  }

  take({ text, whole }: Line): void {
    this.#line += 1;
    const record = whole ? parseLine(text) : undefined;
    if (record === undefined) {
      this.#blameTorn();
      this.#torn = { line: this.#line, text };
      return;
    }
    const data = record.type === RECOVERED ? (record.data as { readonly sha256?: unknown }) : undefined;
    if (this.#torn !== undefined && data?.sha256 !== digest(this.#torn.text, undefined)) this.#blameTorn();
    this.#torn = undefined;
    this.#check(record);
  }

  report(found: FoundHead): AuditReport {
    if (this.#torn !== undefined)
      this.#add("unfinished", this.#torn.line, "The last line is not whole: a write is under way, or a crash cut it");
    if (this.#expect !== undefined && !this.#met)
      this.#add("expected-missing", 0, `There is no record ${this.#expect.n} with the hash that was noted`);
    if (found === undefined)
      this.#add("head-missing", 0, "The file that says where the log ends is missing or cannot be read");
    else this.#checkHead(found);
    const { n, hash } = this.#link;
    const problems = this.#problems.slice(0, MAX_PROBLEMS);
    return {
      ok: problems.length === 0,
      records: this.#records,
      sessions: this.#seqs.size,
      head: { n, hash },
      problems,
    };
  }

  #check(record: AuditRecord): void {
    this.#records += 1;
    const { n, prev, hash, session, seq } = record;
    if (!isWhole(record, this.#key))
      this.#add("hash-mismatch", this.#line, `Record ${n} is not what was written, or was written under another key`);
    else if (n !== this.#link.n + 1 || prev !== this.#link.hash)
      this.#add(
        "chain-broken",
        this.#line,
        `Record ${n} does not follow record ${this.#link.n}: something is missing, moved or repeated`,
      );
    if (seq > 0 && seq <= (this.#seqs.get(session) ?? 0))
      this.#add("session-order", this.#line, `Fact ${seq} of ${session} stands behind a later one`);
    if (seq > 0) this.#seqs.set(session, Math.max(seq, this.#seqs.get(session) ?? 0));
    if (this.#expect?.n === n && this.#expect.hash === hash) this.#met = true;
    this.#link = { n, hash };
    this.#hashes.set(n, hash);
    this.#hashes.delete(n - KEPT_HASHES);
  }

  #checkHead({ head, isTrue }: NonNullable<FoundHead>): void {
    if (!isTrue)
      this.#add("head-mismatch", 0, "The file that says where the log ends was changed, or is of another key");
    if (this.#link.n < head.n) {
      const missing = head.n - this.#link.n;
      this.#add("truncated", this.#line, `The log ended with record ${head.n} once: ${missing} at its end are missing`);
    } else if (head.n > 0 && (this.#hashes.get(head.n) ?? head.hash) !== head.hash)
      this.#add("head-mismatch", 0, `Record ${head.n} is another one than was written`);
  }

  #blameTorn(): void {
    if (this.#torn !== undefined) this.#add("not-a-record", this.#torn.line, "This line is no record");
  }

  #add(code: AuditProblem["code"], line: number, message: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ code, line, message });
  }
}

/** Hashes that are remembered, to find the committed head behind which a writer may be at work. */
const KEPT_HASHES = 100_000;

function readHead(path: string, key: AuditKey | undefined): FoundHead {
  if (!existsSync(headPath(path))) return undefined;
  // a commit that a crash cut must be rolled back before it can be read
  for (const readOnly of [true, false]) {
    let database: HeadDatabase | undefined;
    try {
      database = new HeadDatabase(path, { readOnly });
      return database.head(key);
    } catch {
      continue; // said in the report
    } finally {
      database?.close();
    }
  }
  return undefined;
}

type Line = { readonly text: string; readonly whole: boolean };

/** A line that is too long comes in pieces, none of which is a record. */
async function* linesOf(path: string): AsyncGenerator<Line> {
  let held: Buffer[] = [];
  let length = 0;
  const flush = (whole: boolean): Line => {
    const text = Buffer.concat(held).toString();
    held = [];
    length = 0;
    return { text, whole };
  };
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let at = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, at)) {
      held.push(chunk.subarray(at, end));
      yield flush(true);
      at = end + 1;
    }
    held.push(chunk.subarray(at));
    length += chunk.length - at;
    if (length > MAX_LINE_BYTES) yield flush(false);
  }
  if (length > 0) yield flush(false);
}
