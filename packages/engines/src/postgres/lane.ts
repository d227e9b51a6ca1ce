/** Group commit on one connection: what is asked for meanwhile is done next, in call order, in one transaction. */

import { type Clock, sleep } from "@capstan/core";
import type { Connect, Connection, Sql } from "./connection.ts";
import { ConnectionLost, isOwnFault, isPassing, toStoreError } from "./sql-errors.ts";

/** `sync`: a write that is on disk before it is answered, in `full` durability. `barrier`: in `relaxed` too. */
export type Kind = "read" | "write" | "sync" | "barrier";

/** What a piece of work is given. */
export type Tx = Sql & {
  /** How the transaction commits, as a value of `synchronous_commit`. */
  readonly commit: string;
  /** It may have been done before on a connection that was lost: what it finds done by itself is done. */
  readonly again: boolean;
};

/**
 * Runs again when its transaction was undone or its connection lost: it changes nothing but the database, and does no harm
 * twice. What is thrown undoes it; the others of its transaction go on.
 */
export type Work<T> = (tx: Tx) => Promise<T>;

export type Ask = {
  readonly kind: Kind;
  /** Names of the sessions that it writes: their rows are locked in one order, so that processes cannot wait for each other. */
  readonly locks?: readonly string[];
  /** Is one statement that needs no transaction around it. Sets `synchronous_commit` itself when it writes. */
  readonly single?: boolean;
};

export interface Lane {
  do<T>(ask: Ask, work: Work<T>): Promise<T>;
  /** Something was committed that is perhaps not on disk yet. */
  readonly unsynced: boolean;
  /** Resolves when what was asked for so far is done. */
  idle(): Promise<void>;
  /** Does what was asked for, then closes the connection. */
  close(): Promise<void>;
}

export type LaneOptions = {
  readonly connect: Connect;
  readonly full: boolean;
  readonly clock: Clock;
  /** Names the store in errors. */
  readonly place: string;
};

/** Work in one transaction; more waits for the next, so that rows are not locked for long. */
const MAX_WORK = 64;
/** How long work is tried again when its transaction was undone or the server is away. */
const RETRY_MS = 5_000;
const RETRY_FIRST_MS = 10;
const RETRY_MOST_MS = 250;

type Item = Ask & {
  readonly work: Work<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
};
type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };
type State = {
  readonly options: LaneOptions;
  queue: Item[];
  db: Connection | undefined;
  flushing: Promise<void> | undefined;
  unsynced: boolean;
};

export function lane(options: LaneOptions, db?: Connection): Lane {
  const state: State = { options, queue: [], db, flushing: undefined, unsynced: false };
  return {
    do: <T>(ask: Ask, work: Work<T>) =>
      new Promise<T>((resolve, reject) => {
        state.queue.push({ ...ask, work, resolve, reject });
        state.flushing ??= flush(state);
      }),
    get unsynced() {
      return state.unsynced;
    },
    idle: async () => state.flushing,
    async close() {
      await state.flushing;
      await discard(state);
    },
  };
}

async function flush(state: State): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve)); // what is asked for in one tick shares a transaction
  state.db?.hold(true);
  while (state.queue.length > 0) await perform(state, state.queue.splice(0, MAX_WORK));
  state.db?.hold(false);
  state.flushing = undefined;
}

async function perform(state: State, items: readonly Item[]): Promise<void> {
  const { clock, place } = state.options;
  const from = clock.monotonic();
  let again = false;
  for (let waitMs = RETRY_FIRST_MS; ; waitMs = Math.min(2 * waitMs, RETRY_MOST_MS)) {
    try {
      settle(items, await attempt(state, items, again));
      return;
    } catch (error) {
      again ||= error instanceof ConnectionLost;
      await discard(state);
      if (!isPassing(error) || clock.monotonic() - from >= RETRY_MS) {
        // what came meanwhile waited for the same server: it need not find out by itself
        const waited = error instanceof ConnectionLost ? state.queue.splice(0) : [];
        const typed = toStoreError(error, place);
        for (const { reject } of [...items, ...waited]) reject(typed);
        return;
      }
    }
    await sleep(clock, waitMs);
  }
}

function settle(items: readonly Item[], outcomes: readonly Outcome[]): void {
  for (const [index, outcome] of outcomes.entries()) {
    const item = items[index];
    if (outcome.ok) item?.resolve(outcome.value as never); // the value of this item's own work
    else item?.reject(outcome.error);
  }
}

/** Throws what concerns all of them. */
async function attempt(state: State, items: readonly Item[], again: boolean): Promise<readonly Outcome[]> {
  const db = await connection(state);
  const commit = items.some((item) => isStrict(state, item)) ? db.strict : "off";
  const tx: Tx = { all: db.all, get: db.get, run: db.run, exec: db.exec, commit, again };
  const writes = items.some(({ kind }) => kind !== "read");
  let outcomes: readonly Outcome[];
  if (!writes || (items.length === 1 && items[0]?.single === true)) outcomes = await eachAlone(state, tx, items);
  else outcomes = (await together(state, tx, items)) ?? (await apart(state, tx, items));
  if (writes) state.unsynced = commit === "off";
  return outcomes;
}

async function connection(state: State): Promise<Connection> {
  if (state.db?.broken === true) await discard(state);
  if (state.db !== undefined) return state.db;
  const db = await state.options.connect();
  db.hold(true);
  state.db = db;
  return db;
}

function isStrict({ options }: State, { kind }: Item): boolean {
  return kind === "barrier" || (kind === "sync" && options.full);
}

async function eachAlone(state: State, tx: Tx, items: readonly Item[]): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const item of items) outcomes.push(await outcomeOf(state, tx, item));
  return outcomes;
}

/** `undefined` when one of them failed by its own fault: nothing is done then. */
async function together(state: State, tx: Tx, items: readonly Item[]): Promise<readonly Outcome[] | undefined> {
  await begin(tx, items);
  const outcomes: Outcome[] = [];
  for (const item of items) {
    const outcome = await outcomeOf(state, tx, item);
    outcomes.push(outcome);
    if (outcome.ok) continue;
    await tx.exec("ROLLBACK");
    return items.length === 1 ? outcomes : undefined;
  }
  await tx.exec("COMMIT");
  return outcomes;
}

/** Each under a savepoint, so that only the work of those that fail is missing. */
async function apart(state: State, tx: Tx, items: readonly Item[]): Promise<readonly Outcome[]> {
  await begin(tx, items);
  const outcomes: Outcome[] = [];
  for (const item of items) {
    await tx.exec("SAVEPOINT work");
    const outcome = await outcomeOf(state, tx, item);
    outcomes.push(outcome);
    await tx.exec(outcome.ok ? "RELEASE work" : "ROLLBACK TO work; RELEASE work");
  }
  await tx.exec("COMMIT");
  return outcomes;
}

async function begin(tx: Tx, items: readonly Item[]): Promise<void> {
  await tx.exec(`BEGIN; SET LOCAL synchronous_commit TO ${tx.commit}`);
  const names = [...new Set(items.flatMap(({ locks = [] }) => locks))];
  if (names.length > 1) await tx.run("SELECT 1 FROM sessions WHERE name = ANY($1) ORDER BY number FOR UPDATE", names);
}

async function outcomeOf({ options }: State, tx: Tx, { work }: Item): Promise<Outcome> {
  try {
    return { ok: true, value: await work(tx) };
  } catch (error) {
    if (!isOwnFault(error)) throw error;
    return { ok: false, error: toStoreError(error, options.place) };
  }
}

/** A connection on which something failed is not used again: the next work opens another. */
async function discard(state: State): Promise<void> {
  const { db } = state;
  state.db = undefined;
  await db?.close();
}
