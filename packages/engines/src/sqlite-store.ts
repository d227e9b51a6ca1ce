/** The default store: one SQLite file for any number of processes on one machine. */

import { resolve } from "node:path";
import { CapstanError, LIMITS, systemClock } from "@capstan/core";
import type { Append, Clock, Store } from "@capstan/core";
import { checkAnchors } from "./sqlite/anchor-check.ts";
import { anchorKeeper, type AnchorKeeper } from "./sqlite/anchor-keeper.ts";
import * as blobs from "./sqlite/blobs.ts";
import { toStoreError, type Database } from "./sqlite/database.ts";
import { group, type Group, type Kind } from "./sqlite/group.ts";
import * as holding from "./sqlite/holding.ts";
import * as mail from "./sqlite/mail.ts";
import * as owners from "./sqlite/owners.ts";
import { openStore } from "./sqlite/schema.ts";
import { find, quarantine } from "./sqlite/session-row.ts";
import * as sessions from "./sqlite/sessions.ts";
import { watcher } from "./sqlite/watcher.ts";

export type SqliteStoreOptions = {
  /** The database file. It and its folder are made when missing, private to the user. */
  readonly path: string;
  /** `full` (default): what is acknowledged survives a power loss. `relaxed`: only the end of the process. */
  readonly durability?: "full" | "relaxed";
  readonly clock?: Clock;
  /** Upper bound of the file in pages of 4 KB; more is `store-full`. Default: the disk. */
  readonly maxPages?: number;
};

/** SQLite's own short wait for a lock, which blocks the thread; the group then waits without blocking. */
const BUSY_MS = 4;

/**
 * Opens or creates the store. Beside `path` there are SQLite's `-wal` and `-shm` and an `.anchor` with the heads that were
 * on disk. Throws `store-newer` (nothing is changed), `store-damaged`, `store-readonly`, `store-full` or `store-failed`.
 */
export async function sqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const path = resolve(options.path);
  const anchorPath = `${path}.anchor`;
  const { durability = "full", clock = systemClock, maxPages } = options;
  const open = (): Database =>
    openStore({ path, anchorPath, busyMs: BUSY_MS, ...(maxPages !== undefined && { maxPages }) });
  const db = open();
  try {
    checkAnchors(db, anchorPath);
  } catch (error) {
    db.close();
    throw toStoreError(error, path);
  }
  const full = durability === "full";
  const work = group({ path, full, clock, open, db });
  const barrier = async (): Promise<void> => {
    await work.do("barrier", (connection) =>
      connection.run("UPDATE meta SET value = value + 1 WHERE name = 'barrier'"),
    );
  };
  const anchors = anchorKeeper({ path: anchorPath, clock, barrier });
  return store({ id: `sqlite:${path}`, work, anchors, clock, full });
}

type Parts = {
  readonly id: string;
  readonly work: Group;
  readonly anchors: AnchorKeeper;
  readonly clock: Clock;
  readonly full: boolean;
};

function store(parts: Parts): Store {
  const { id, work, clock } = parts;
  const here = owners.thisProcess();
  const registered = new Set<string>();
  const changes = watcher({ clock, everyMs: LIMITS.pollMs, version: () => work.do("read", versionOf) });
  let closed: Promise<void> | undefined;
  const on = <T>(sessionId: string, kind: Kind, task: (db: Database) => T): Promise<T> =>
    guarded(work, sessionId, kind, task);
  return {
    id,
    create: (made) => work.do("sync", (db) => sessions.create(db, made)),
    submit: (entry) => on(entry.sessionId, "sync", (db) => mail.submit(db, entry)),
    claim: (sessionId, owner, replacing) =>
      on(sessionId, "write", (db) => holding.claim(db, sessionId, owner, replacing)),
    release: (sessionId, epoch) => work.do("write", (db) => holding.release(db, sessionId, epoch)),
    append: (write, { sync }) => append(parts, write, sync),
    read: (sessionId, slice) => on(sessionId, "read", (db) => sessions.read(db, sessionId, slice)),
    snapshot: (sessionId) => work.do("read", (db) => holding.snapshot(db, sessionId)),
    mail: (sessionId) => on(sessionId, "read", (db) => mail.unread(db, sessionId)),
    summary: (sessionId) => work.do("read", (db) => sessions.summary(db, sessionId)),
    list: (filter) => work.do("read", (db) => sessions.list(db, filter)),
    pending: () => work.do("read", sessions.pending),
    async fireTimers(now) {
      const next = await work.do("read", mail.nextDue);
      return next === undefined || next > now ? next : work.do("write", (db) => mail.fireTimers(db, now));
    },
    register(owner) {
      registered.add(owner);
      return work.do("write", (db) => owners.register(db, owner, here, clock.now()));
    },
    beat: (owner) => work.do("write", (db) => owners.beat(db, owner, here, clock.now())),
    owners: () => work.do("read", (db) => owners.owners(db, here)),
    async putBlob(hash, bytes) {
      blobs.checkBlob(bytes);
      const own = bytes.slice(); // the caller may change its bytes before the commit
      await work.do("write", (db) => blobs.putBlob(db, hash, own));
    },
    blob: (hash) => work.do("read", (db) => blobs.blob(db, hash)),
    remove: (sessionId) => remove(parts, sessionId),
    moveKey: (from, to) => work.do("write", (db) => sessions.moveKey(db, from, to)),
    watch: (changed) => changes.add(changed),
    close() {
      closed ??= changes.close().then(() => close(parts, registered));
      return closed;
    },
  };
}

async function append({ work, anchors, full }: Parts, write: Append, sync: boolean): Promise<void> {
  const { sessionId } = write;
  const own = { ...write, facts: [...write.facts] };
  const { number, head } = await guarded(work, sessionId, sync ? "sync" : "write", (db) => holding.append(db, own));
  if (own.facts.length === 0) return;
  const finished = own.facts.some(({ type }) => type === "run.finished");
  anchors.wrote({ sessionId, number, head }, { synced: sync && full, finished });
}

/** The anchor goes first: were the session gone and its anchor still there, it would count as lost. */
async function remove({ work, anchors }: Parts, sessionId: string): Promise<void> {
  const row = await work.do("read", (db) => find(db, sessionId));
  if (row === undefined) return;
  await anchors.removing({ sessionId, number: row.number, head: 0 });
  await work.do("sync", (db) => sessions.remove(db, sessionId));
}

/** What turns out to be damaged is put into quarantine, so that nobody writes to it, before the caller is told. */
async function guarded<T>(work: Group, sessionId: string, kind: Kind, task: (db: Database) => T): Promise<T> {
  try {
    return await work.do(kind, task);
  } catch (error) {
    if (CapstanError.is(error, "session-damaged")) {
      await work.do("write", (db) => quarantine(db, sessionId, error.message)).catch(() => {}); // not writable: still read-only
    }
    throw error;
  }
}

async function close({ work, anchors }: Parts, registered: ReadonlySet<string>): Promise<void> {
  await anchors.close();
  const leave = registered.size === 0 ? undefined : work.do("barrier", (db) => owners.unregister(db, registered));
  await leave?.catch(() => {}); // a disk that takes no write takes no farewell either; the process id tells
  await work.close();
}

function versionOf(db: Database): number {
  return db.get<{ readonly data_version: number }>("PRAGMA data_version")?.data_version ?? 0;
}
