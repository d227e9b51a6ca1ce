/** The file of an audit log: appends whole batches, one writer at a time over all processes, and mends what a crash left. */

import { constants, mkdirSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { CapstanError, type Clock, sleep, systemClock } from "@capstan/core";
import {
  type AuditEntry,
  type AuditKey,
  digest,
  isWhole,
  lineOf,
  type Link,
  nextRecord,
  parseLine,
  RECOVERED,
} from "./chain.ts";
import { type Head, HeadDatabase, NO_HEAD } from "./head-database.ts";

const WAIT_MS = 10;
/** How long others may write before a batch is given up; it is tried again with the next one. */
const MAX_WAIT_MS = 20_000;
/** What a crash may have left behind the head: one batch. */
const MAX_TAIL_BYTES = 64 * 1_024 * 1_024;

export class AuditFile {
  readonly #path: string;
  readonly #key: AuditKey | undefined;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #head: HeadDatabase | undefined;

  constructor(path: string, key: AuditKey | undefined, clock: Clock, signal: AbortSignal) {
    this.#path = path;
    this.#key = key;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** The newest fact of a session that is in the log. */
  async seqOf(session: string): Promise<number> {
    const head = await this.#lock();
    try {
      return head.seqOf(session);
    } finally {
      head.rollback();
    }
  }

  /** Entries of facts that are in the log already are left out. Synced when it resolves. */
  async append(entries: readonly AuditEntry[]): Promise<void> {
    const database = await this.#lock();
    let file: FileHandle | undefined;
    try {
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
      file = await open(this.#path, flags, 0o600);
      const known = database.head(this.#key)?.head ?? NO_HEAD;
      const lines: string[] = [];
      let link: Link = await this.#mended(file, known, database, lines);
      for (const entry of entries) {
        if (entry.seq <= database.seqOf(entry.session)) continue;
        const record = nextRecord(link, entry, this.#key);
        lines.push(lineOf(record));
        link = record;
        database.setSeq(entry.session, entry.seq);
      }
      if (lines.length > 0) await file.appendFile(lines.join(""));
      await file.datasync();
      const { size } = await file.stat();
      database.commit({ n: link.n, hash: link.hash, bytes: size }, this.#key);
    } finally {
      database.rollback();
      await file?.close();
    }
  }

  close(): void {
    this.#head?.close();
    this.#head = undefined;
  }

  async #lock(): Promise<HeadDatabase> {
    if (this.#head === undefined) {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      this.#head = new HeadDatabase(this.#path);
    }
    const until = systemClock.monotonic() + MAX_WAIT_MS;
    while (!this.#head.begin()) {
      if (systemClock.monotonic() > until)
        throw new CapstanError("timeout", `Others write to ${this.#path} all the time`);
      await sleep(systemClock, WAIT_MS, this.#signal);
    }
    return this.#head;
  }

  /** Takes over whole lines that were written and not committed; half a line is closed, and named in a record. */
  async #mended(file: FileHandle, head: Head, database: HeadDatabase, lines: string[]): Promise<Link> {
    const { size } = await file.stat();
    if (size <= head.bytes) return head; // shorter: the missing lines show in the chain
    const tail = Buffer.alloc(Math.min(size - head.bytes, MAX_TAIL_BYTES));
    await file.read(tail, 0, tail.length, head.bytes);
    let link: Link = head;
    let at = 0;
    while (at < tail.length) {
      const found = tail.indexOf(10, at);
      const end = found === -1 ? tail.length : found;
      const record = parseLine(tail.subarray(at, end).toString());
      if (record === undefined || record.n !== link.n + 1 || record.prev !== link.hash || !isWhole(record, this.#key))
        break;
      if (record.seq > 0) database.setSeq(record.session, record.seq);
      link = record;
      at = end + 1;
      if (found === -1) lines.push("\n"); // all but the end of the line was written
    }
    const torn = tail.subarray(at);
    if (torn.length === 0) return link;
    const text = torn.toString();
    if (!text.endsWith("\n")) lines.push("\n");
    const data = { bytes: torn.length, sha256: digest(text.replace(/\n$/, ""), undefined) };
    const entry = { at: this.#clock.now(), session: "", seq: 0, agent: "", type: RECOVERED, data };
    const record = nextRecord(link, entry, this.#key);
    lines.push(lineOf(record));
    return record;
  }
}
