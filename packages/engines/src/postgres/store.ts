/** Puts the parts of the Postgres store together. */

import { CapstanError, systemClock, systemIds } from "@capstan/core";
import type { Append, Clock, SessionSummary, Store } from "@capstan/core";
import { thisProcess } from "../sqlite/owners.ts";
import * as blobs from "./blobs.ts";
import { connector, type Connect, type Connection } from "./connection.ts";
import * as facts from "./facts.ts";
import * as holding from "./holding.ts";
import type { Ask, Kind, Work } from "./lane.ts";
import { lanes, type Lanes } from "./lanes.ts";
import * as mail from "./mail.ts";
import { notices, type Notices } from "./notices.ts";
import * as owners from "./owners.ts";
import { openSchema } from "./schema.ts";
import { quarantine } from "./session-row.ts";
import * as sessions from "./sessions.ts";
import { toStoreError } from "./sql-errors.ts";
import { toName } from "./text.ts";
import * as timers from "./timers.ts";

export type StoreOptions = {
  readonly url: string;
  readonly schema?: string;
  readonly durability?: "full" | "relaxed";
  readonly clock?: Clock;
};

const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,50}$/;

export async function openPostgresStore(options: StoreOptions): Promise<Store> {
  const { url, schema = "capstan", durability = "full", clock = systemClock } = options;
  if (!SCHEMA_NAME.test(schema)) {
    const message = `${JSON.stringify(schema)} is no name for a schema; use small letters, digits and underscores`;
    throw new CapstanError("config-invalid", message);
  }
  const place = placeOf(url, schema);
  const connect = await connector(url, schema);
  const db = await open(connect, schema, place);
  const work = lanes({ connect, full: durability === "full", clock, place }, db);
  const self = systemIds(() => clock.now()).random();
  const run = (sql: string, ...values: readonly string[]): Promise<void> =>
    work.do(undefined, { kind: "read" }, async (db) => void (await db.run(sql, ...values)));
  return store({ id: place, work, news: notices({ connect, clock, schema, self, run }), here: thisProcess() });
}

async function open(connect: Connect, schema: string, place: string): Promise<Connection> {
  let db: Connection | undefined;
  try {
    db = await connect();
    await openSchema(db, schema, place);
    return db;
  } catch (error) {
    await db?.close();
    throw toStoreError(error, place);
  }
}

/** Without user and password. */
function placeOf(url: string, schema: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `postgres:${host}${pathname}/${schema}`;
  } catch {
    throw new CapstanError(
      "config-invalid",
      "The URL of the store cannot be read; write postgres://user@host/database",
    );
  }
}

type Parts = {
  readonly id: string;
  readonly work: Lanes;
  readonly news: Notices;
  readonly here: ReturnType<typeof thisProcess>;
};

/** What the methods of the store share. */
type Asking = Parts & {
  readonly ask: <T>(sessionId: string | undefined, how: Kind | Ask, task: Work<T>) => Promise<T>;
  /** As `ask`, and puts a session that turns out to be damaged into quarantine. */
  readonly on: <T>(sessionId: string, how: Kind | Ask, task: Work<T>) => Promise<T>;
  /** Tells other processes once it is done. */
  readonly told: <T>(changing: Promise<T>) => Promise<T>;
};

function store(parts: Parts): Store {
  const { id, work, news } = parts;
  const registered = new Set<string>();
  let closed: Promise<void> | undefined;
  const ask: Asking["ask"] = (sessionId, how, task) =>
    closed === undefined
      ? work.do(sessionId, typeof how === "string" ? { kind: how } : how, task)
      : Promise.reject(new CapstanError("closed", "The store is closed; open it again"));
  const asking: Asking = {
    ...parts,
    ask,
    async on(sessionId, how, task) {
      try {
        return await ask(sessionId, how, task);
      } catch (error) {
        if (CapstanError.is(error, "session-damaged")) await isolate(work, sessionId, error.message);
        throw error;
      }
    },
    async told(changing) {
      const value = await changing;
      news.tell();
      return value;
    },
  };
  return {
    id,
    ...sessionMethods(asking),
    ...commonMethods(asking, registered),
    watch: (changed) => news.add(changed),
    close() {
      closed ??= close(parts, registered);
      return closed;
    },
  };
}

type SessionMethods = "submit" | "claim" | "release" | "append" | "read" | "snapshot" | "mail" | "summary" | "remove";

function sessionMethods({ ask, on, told, here }: Asking): Pick<Store, SessionMethods> {
  return {
    submit: (entry) => told(on(entry.sessionId, locking("sync", entry.sessionId), (db) => mail.submit(db, entry))),
    claim: (sessionId, owner, replacing) =>
      on(sessionId, locking("write", sessionId), (db) => holding.claim(db, sessionId, owner, replacing)),
    release: (sessionId, epoch) =>
      told(ask(sessionId, locking("write", sessionId), (db) => holding.release(db, sessionId, epoch))),
    append: (write, { sync }) => told(append(on, write, sync)),
    read: (sessionId, slice) => on(sessionId, "read", (db) => facts.read(db, sessionId, slice)),
    snapshot: (sessionId) => ask(sessionId, "read", (db) => holding.snapshot(db, sessionId)),
    mail: (sessionId) => on(sessionId, "read", (db) => mail.unread(db, sessionId)),
    summary: (sessionId) => ask(sessionId, "read", (db) => sessions.summary(db, sessionId, here)),
    remove: (sessionId) => told(ask(sessionId, locking("sync", sessionId), (db) => sessions.remove(db, sessionId))),
  };
}

function commonMethods(
  { ask, news, here }: Asking,
  registered: Set<string>,
): Omit<Store, SessionMethods | "id" | "watch" | "close"> {
  return {
    create: (made) => ask(made.key ?? made.sessionId, "sync", (db) => sessions.create(db, made)),
    list: (filter) => {
      const { limit = Number.MAX_SAFE_INTEGER } = filter;
      return pages(limit, (page) => ask(undefined, "read", (db) => sessions.list(db, filter, here, page)));
    },
    pending: () => ask(undefined, "read", sessions.pending),
    fireTimers: (now) => fireTimers((kind, task) => ask(undefined, kind, task), news, now),
    register(owner) {
      registered.add(owner);
      return ask(undefined, "write", (db) => owners.register(db, owner, here));
    },
    beat: (owner) => ask(undefined, "write", (db) => owners.beat(db, owner, here)),
    owners: () => ask(undefined, "read", (db) => owners.owners(db, here)),
    async putBlob(hash, bytes) {
      blobs.checkBlob(bytes);
      const own = bytes.slice(); // the caller may change its bytes before they are sent
      await ask(undefined, "write", (db) => blobs.putBlob(db, hash, own));
    },
    blob: (hash) => ask(undefined, "read", (db) => blobs.blob(db, hash)),
    moveKey: (from, to) => ask(to, locking("write", from, to), (db) => sessions.moveKey(db, from, to)),
  };
}

function locking(kind: Kind, ...ids: readonly string[]): Ask {
  return { kind, locks: ids.map(toName) };
}

async function append(on: Asking["on"], write: Append, sync: boolean): Promise<void> {
  const own = { ...write, facts: [...write.facts] }; // the caller may change its array before the commit
  const kind = sync ? "sync" : "write";
  const writing = holding.toWriting(own);
  const ask = { kind, locks: [toName(write.sessionId)], single: writing.single } as const;
  await on(write.sessionId, ask, (tx) => holding.append(tx, writing));
}

async function fireTimers(
  ask: <T>(kind: Kind, task: Work<T>) => Promise<T>,
  news: Notices,
  now: number,
): Promise<number | undefined> {
  for (;;) {
    const next = await ask("read", timers.nextDue);
    if (next === undefined || next > now) return next;
    if (await ask("write", (db) => timers.fireTimers(db, now))) news.tell();
  }
}

/** Other work comes between two pages: the list is that of no single moment. */
async function pages(
  limit: number,
  read: (page: sessions.PageOptions) => Promise<sessions.Page>,
): Promise<readonly SessionSummary[]> {
  const found: SessionSummary[] = [];
  for (let below: number | undefined; ;) {
    const page = await read({ below, left: limit - found.length });
    found.push(...page.found);
    if (page.below === undefined) return found;
    ({ below } = page);
  }
}

/** What turns out to be damaged is put into quarantine, so that nobody writes to it, before the caller is told. */
async function isolate(work: Lanes, sessionId: string, text: string): Promise<void> {
  const ask = { kind: "write", locks: [toName(sessionId)] } as const;
  await work.do(sessionId, ask, (db) => quarantine(db, sessionId, text)).catch(() => {}); // not writable: nobody writes to it either
}

/** Closes in any case; rejects when what was not yet on disk could not be synced. */
async function close({ work, news }: Parts, registered: ReadonlySet<string>): Promise<void> {
  await news.close();
  const [synced] = await Promise.allSettled([work.sync()]);
  // Failing to say farewell does no harm: the process id or the beat tells the others.
  if (registered.size > 0)
    await work.do(undefined, { kind: "write" }, (db) => owners.unregister(db, registered)).catch(() => {});
  await work.close();
  if (synced.status === "rejected") throw synced.reason;
}
