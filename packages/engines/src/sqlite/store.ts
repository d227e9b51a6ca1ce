/** Puts the parts of the SQLite store together. */

import { CapstanError, LIMITS, systemClock } from "@capstan/core";
import type { Append, Clock, SessionSummary, Store } from "@capstan/core";
import { checkAnchors } from "./anchor-check.ts";
import { anchorKeeper, type AnchorKeeper } from "./anchor-keeper.ts";
import * as blobs from "./blobs.ts";
import { openDatabase, toStoreError, type Connect, type Database } from "./database.ts";
import { unwritable } from "./file-errors.ts";
import { realPath } from "./files.ts";
import { group, type Group, type Kind } from "./group.ts";
import * as holding from "./holding.ts";
import * as mail from "./mail.ts";
import * as owners from "./owners.ts";
import { inPlace } from "./in-place.ts";
import { openStore, WAL_BYTES } from "./schema.ts";
import { find, quarantine } from "./session-row.ts";
import * as sessions from "./sessions.ts";
import { watcher } from "./watcher.ts";

export type StoreOptions = {
  readonly path: string;
  readonly durability?: "full" | "relaxed";
  readonly clock?: Clock;
  /** What opens a connection; tests put a failing disk here. */
  readonly connect?: Connect;
};

/** SQLite's own short wait for a lock, which blocks the thread; the group then waits without blocking. */
const BUSY_MS = 4;

export async function openSqliteStore(options: StoreOptions): Promise<Store> {
  const path = realPath(options.path);
  const anchorPath = `${path}.anchor`;
  const { durability = "full", clock = systemClock, connect = openDatabase } = options;
  const connectTo = (mustExist: boolean): Database =>
    openStore({ path, anchorPath, busyMs: BUSY_MS, connect, mustExist });
  const db = connectTo(false);
  try {
    checkAnchors(db, anchorPath);
  } catch (error) {
    db.close();
    throw toStoreError(error, path);
  }
  const full = durability === "full";
  let place = inPlace(path, WAL_BYTES);
  const reopen = (): Database => {
    const again = connectTo(true);
    try {
      checkAnchors(again, anchorPath); // it may be another file, or one that lost its end
    } catch (error) {
      again.close();
      throw error;
    }
    place = inPlace(path, WAL_BYTES);
    return again;
  };
  const work = group({ path, full, clock, open: reopen, db, inPlace: () => place });
  const anchors = anchorKeeper({ path: anchorPath, clock, barrier: () => work.sync() });
  return store({ id: `sqlite:${path}`, work, anchors, anchorPath, clock, full });
}

type Parts = {
  readonly id: string;
  readonly work: Group;
  readonly anchors: AnchorKeeper;
  readonly anchorPath: string;
  readonly clock: Clock;
  readonly full: boolean;
};

function store(parts: Parts): Store {
  const { id, work, clock } = parts;
  const here = owners.thisProcess();
  const lives = (db: Database): ((owner: string) => boolean) => owners.living(db, here, clock.now());
  const registered = new Set<string>();
  const changes = watcher({ clock, everyMs: LIMITS.pollMs, version: () => work.do("read", versionOf) });
  let closed: Promise<void> | undefined;
  const ask = <T>(kind: Kind, task: (db: Database) => T): Promise<T> =>
    closed === undefined
      ? work.do(kind, task)
      : Promise.reject(new CapstanError("closed", "The store is closed; open it again"));
  const on = async <T>(sessionId: string, kind: Kind, task: (db: Database) => T): Promise<T> => {
    try {
      return await ask(kind, task);
    } catch (error) {
      if (CapstanError.is(error, "session-damaged")) await isolate(work, sessionId, error.message);
      throw error;
    }
  };
  return {
    id,
    create: (made) => ask("sync", (db) => sessions.create(db, made)),
    submit: (entry) => on(entry.sessionId, "sync", (db) => mail.submit(db, entry)),
    claim: (sessionId, owner, replacing) =>
      on(sessionId, "write", (db) => holding.claim(db, sessionId, owner, replacing)),
    release: (sessionId, epoch) => ask("write", (db) => holding.release(db, sessionId, epoch)),
    append: (write, { sync }) => append(parts, on, write, sync),
    read: (sessionId, slice) => on(sessionId, "read", (db) => sessions.read(db, sessionId, slice)),
    snapshot: (sessionId) => ask("read", (db) => holding.snapshot(db, sessionId)),
    mail: (sessionId) => on(sessionId, "read", (db) => mail.unread(db, sessionId)),
    summary: (sessionId) => ask("read", (db) => sessions.summary(db, sessionId, lives(db))),
    list: (filter) => {
      const { limit = Number.MAX_SAFE_INTEGER } = filter;
      return pages(limit, (below, left) => ask("read", (db) => sessions.list(db, filter, lives(db), below, left)));
    },
    pending: () => ask("read", sessions.pending),
    fireTimers: (now) => fireTimers(ask, now),
    register(owner) {
      registered.add(owner);
      return ask("write", (db) => owners.register(db, owner, here, clock.now()));
    },
    beat: (owner) => ask("write", (db) => owners.beat(db, owner, here, clock.now())),
    owners: () => ask("read", (db) => owners.owners(db, here)),
    async putBlob(hash, bytes) {
      blobs.checkBlob(bytes);
      const own = bytes.slice(); // the caller may change its bytes before the commit
      await ask("write", (db) => blobs.putBlob(db, hash, own));
    },
    blob: (hash) => ask("read", (db) => blobs.blob(db, hash)),
    remove: (sessionId) => remove(parts, ask, sessionId),
    moveKey: (from, to) => ask("write", (db) => sessions.moveKey(db, from, to)),
    watch: (changed) => changes.add(changed),
    close() {
      closed ??= changes.close().then(() => close(parts, registered));
      return closed;
    },
  };
}

type Ask = <T>(kind: Kind, task: (db: Database) => T) => Promise<T>;
type On = <T>(sessionId: string, kind: Kind, task: (db: Database) => T) => Promise<T>;

async function append({ anchors, full }: Parts, on: On, write: Append, sync: boolean): Promise<void> {
  const { sessionId } = write;
  const own = { ...write, facts: [...write.facts] }; // the caller may change its array before the commit
  const { number, head } = await on(sessionId, sync ? "sync" : "write", (db) => holding.append(db, own));
  if (own.facts.length === 0) return;
  const finished = own.facts.some(({ type }) => type === "run.finished");
  anchors.wrote({ sessionId, number, head }, { synced: sync && full, finished });
}

async function fireTimers(ask: Ask, now: number): Promise<number | undefined> {
  let next = await ask("read", mail.nextDue);
  while (next !== undefined && next <= now) next = await ask("write", (db) => mail.fireTimers(db, now));
  return next;
}

/** Other work comes between two pages: the list is that of no single moment. */
async function pages(
  limit: number,
  read: (below: number | undefined, left: number) => Promise<sessions.Page>,
): Promise<readonly SessionSummary[]> {
  const found: SessionSummary[] = [];
  for (let below: number | undefined; ;) {
    const page = await read(below, limit - found.length);
    found.push(...page.found);
    if (page.below === undefined) return found;
    ({ below } = page);
  }
}

/** The anchor goes first: were the session gone and its anchor still there, it would count as lost. */
async function remove({ anchors, anchorPath }: Parts, ask: Ask, sessionId: string): Promise<void> {
  const row = await ask("read", (db) => find(db, sessionId));
  if (row === undefined) return;
  try {
    await anchors.removing({ sessionId, number: row.number, head: 0 });
  } catch (cause) {
    throw unwritable(anchorPath, cause);
  }
  await ask("sync", (db) => sessions.remove(db, sessionId));
}

/** What turns out to be damaged is put into quarantine, so that nobody writes to it, before the caller is told. */
async function isolate(work: Group, sessionId: string, text: string): Promise<void> {
  await work.do("write", (db) => quarantine(db, sessionId, text)).catch(() => {}); // not writable: nobody writes to it either
}

/** Closes in any case; rejects when what was not yet on disk could not be synced. */
async function close({ work, anchors }: Parts, registered: ReadonlySet<string>): Promise<void> {
  const [synced] = await Promise.allSettled([work.sync()]);
  await anchors.close();
  // Failing to say farewell does no harm: the process id tells the others.
  if (registered.size > 0) await work.do("write", (db) => owners.unregister(db, registered)).catch(() => {});
  await work.close();
  if (synced.status === "rejected") throw synced.reason;
}

function versionOf(db: Database): number {
  return db.get<{ readonly data_version: number }>("PRAGMA data_version")?.data_version ?? 0;
}
