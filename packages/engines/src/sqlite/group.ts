/** Group commit: what is asked for in one tick is done in call order in one transaction and answered after its commit. */

import { CapstanError, type Clock } from "@capstan/core";
import { sqliteCode, SQLITE, toStoreError, type Database } from "./database.ts";
import type { InPlace } from "./in-place.ts";

/** `sync`: a write that is on disk before it is answered, in `full` durability. `barrier`: in `relaxed` too. */
export type Kind = "read" | "write" | "sync" | "barrier";
/** Writes something, so that there is a commit to sync; SQLite syncs the whole log with it. */
const BARRIER = "UPDATE meta SET value = value + 1 WHERE name = 'barrier'";

export interface Group {
  /**
   * `work` is part of a transaction, and runs again when that one was undone because of a lock: it changes nothing but the
   * database. When it throws a `CapstanError`, what it wrote is undone and the others go on.
   */
  do<T>(kind: Kind, work: (db: Database) => T): Promise<T>;
  /** Resolves when all commits so far are on disk, in `relaxed` durability too. */
  sync(): Promise<void>;
  /** Does what was asked for, then closes the connection. What is asked for later rejects with `closed`. */
  close(): Promise<void>;
}

export type GroupOptions = {
  readonly path: string;
  readonly full: boolean;
  readonly clock: Clock;
  /** Opens a connection: the first one, and another after a failure. */
  readonly open: () => Database;
  readonly db: Database;
  readonly inPlace: () => InPlace;
};

/** Work in one transaction; more waits for the next, so that neither the lock nor the thread is held for long. */
const MAX_WORK = 256;
/** How long a group waits for a lock that another process holds, without blocking the thread. */
const BUSY_BUDGET_MS = 5_000;
const BUSY_RETRY_MS = 5;

type Item = {
  readonly kind: Kind;
  readonly work: (db: Database) => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
};
type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };
type State = {
  readonly options: GroupOptions;
  queue: Item[];
  db: Database | undefined;
  synchronous: "FULL" | "NORMAL" | undefined;
  scheduled: boolean;
  /** Something was committed that is perhaps not on disk yet. */
  unsynced: boolean;
  /** Since when, by the monotonic clock, another process keeps the lock. */
  busySince: number | undefined;
  closing: (() => void) | undefined;
};

export function group(options: GroupOptions): Group {
  const state: State = {
    options,
    queue: [],
    db: options.db,
    synchronous: undefined,
    scheduled: false,
    unsynced: false,
    busySince: undefined,
    closing: undefined,
  };
  let closed: Promise<void> | undefined;
  const ask = <T>(kind: Kind, work: (db: Database) => T): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      if (closed !== undefined) return reject(new CapstanError("closed", "The store is closed; open it again"));
      state.queue.push({ kind, work, resolve, reject });
      schedule(state);
    });
  return {
    do: ask,
    async sync() {
      if (state.unsynced || state.queue.length > 0) await ask("barrier", (db) => db.run(BARRIER));
    },
    close() {
      closed ??= new Promise<void>((resolve) => {
        state.closing = resolve;
        schedule(state);
      }).then(() => distrust(state));
      return closed;
    },
  };
}

function schedule(state: State): void {
  if (state.scheduled) return;
  state.scheduled = true;
  setImmediate(() => {
    state.scheduled = false;
    flush(state);
  });
}

function flush(state: State): void {
  const items = state.queue.slice(0, MAX_WORK);
  if (items.length > 0 && !perform(state, items)) return;
  state.queue.splice(0, items.length);
  if (state.queue.length > 0) schedule(state);
  else state.closing?.();
}

/** `false` when the lock was busy: the same items are tried again later. */
function perform(state: State, items: readonly Item[]): boolean {
  let outcomes: readonly Outcome[];
  try {
    outcomes = attemptAll(state, items);
    state.db?.run("COMMIT");
    state.busySince = undefined;
    if (items.some(({ kind }) => kind === "sync" || kind === "barrier")) state.options.inPlace().after();
    if (items.some(({ kind }) => kind !== "read")) state.unsynced = state.synchronous !== "FULL";
  } catch (error) {
    if (sqliteCode(error) === SQLITE.BUSY && waitForLock(state)) return false;
    state.busySince = undefined;
    distrust(state);
    const typed = toStoreError(error, state.options.path);
    for (const { reject } of items) reject(typed);
    return true;
  }
  for (const [index, outcome] of outcomes.entries()) {
    const item = items[index];
    if (outcome.ok) item?.resolve(outcome.value as never); // the value of this item's own work
    else item?.reject(outcome.error);
  }
  return true;
}

function begin(state: State, items: readonly Item[]): Database {
  state.db ??= state.options.open();
  const { db } = state;
  if (items.every(({ kind }) => kind === "read")) {
    db.run("BEGIN");
    return db;
  }
  state.options.inPlace().before();
  const sync = items.some(({ kind }) => kind === "barrier" || (kind === "sync" && state.options.full));
  const synchronous = sync ? "FULL" : "NORMAL"; // in WAL mode NORMAL syncs at checkpoints only
  if (state.synchronous !== synchronous) {
    db.exec(`PRAGMA synchronous = ${synchronous}`);
    state.synchronous = synchronous;
  }
  db.run("BEGIN IMMEDIATE");
  return db;
}

/** When one of them throws, all is undone and done once more, each under a savepoint, so that only its own work is missing. */
function attemptAll(state: State, items: readonly Item[]): readonly Outcome[] {
  const db = begin(state, items);
  try {
    return items.map(({ work }) => ({ ok: true, value: work(db) }));
  } catch (error) {
    throwUnlessOurs(error, db);
    db.run("ROLLBACK");
    begin(state, items);
    return items.length > 1 ? items.map((item) => attempt(state, db, item)) : [failure(state, error)];
  }
}

function attempt(state: State, db: Database, { work }: Item): Outcome {
  db.run("SAVEPOINT work");
  try {
    return { ok: true, value: work(db) };
  } catch (error) {
    throwUnlessOurs(error, db);
    db.run("ROLLBACK TO work");
    return failure(state, error);
  } finally {
    if (db.inTransaction) db.run("RELEASE work");
  }
}

function failure(state: State, error: unknown): Outcome {
  return { ok: false, error: toStoreError(error, state.options.path) };
}

/** What SQLite refuses may have ended the transaction: the whole group fails. What a caller gave wrongly hurts nobody else. */
function throwUnlessOurs(error: unknown, db: Database): void {
  const code = sqliteCode(error);
  if (!db.inTransaction || (code !== undefined && code !== SQLITE.CORRUPT)) throw error;
}

function waitForLock(state: State): boolean {
  const { clock } = state.options;
  if (state.db?.inTransaction === true) state.db.run("ROLLBACK");
  const now = clock.monotonic();
  state.busySince ??= now;
  if (now - state.busySince > BUSY_BUDGET_MS) return false;
  state.scheduled = true;
  clock.after(BUSY_RETRY_MS, () => {
    state.scheduled = false;
    flush(state);
  });
  return true;
}

/** A connection that failed is not used again: the next work opens another. */
function distrust(state: State): void {
  const { db } = state;
  state.db = undefined;
  state.synchronous = undefined;
  try {
    if (db?.inTransaction === true) db.run("ROLLBACK");
  } catch {
    // closing it undoes what it wrote
  }
  try {
    db?.close();
  } catch {
    // it is not used again either way
  }
}
