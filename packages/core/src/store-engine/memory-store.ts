/** The store without a file: maps in this process. For tests, scripts and as the reference for other stores. */

import {
  namedBlobs,
  type Append,
  type Claim,
  type NewMail,
  type NewSession,
  type OwnerState,
  type ReadFacts,
  type SessionFilter,
  type SessionSummary,
  type Snapshot,
  type Store,
} from "../ports/store.ts";
import { CapstanError } from "../words/errors.ts";
import type { Fact } from "../words/event.ts";
import { LIMITS } from "../words/limits.ts";
import type { Accepted, MailboxEntry } from "../words/op.ts";

/**
 * One object may serve several engines: each stands for a process. Facts are kept as given and never copied or changed.
 * `watch` calls back after every change, own ones too. `close` ends nothing, so that a later engine finds what is there.
 */
export interface MemoryStore extends Store {
  /** Marks an owner dead, as if its process had been killed. */
  kill(owner: string): void;
}

export function memoryStore(): MemoryStore {
  const watchers = new Set<() => void>();
  let telling = false;
  const changed = (): void => {
    if (telling || watchers.size === 0) return;
    telling = true;
    setImmediate(() => {
      telling = false;
      for (const tell of watchers) tell();
    });
  };
  const data = emptyData(changed);
  return {
    id: "memory",
    create: async (session) => create(data, session),
    submit: async (mail) => submit(data, mail),
    claim: async (sessionId, owner, replacing) => claim(data, sessionId, owner, replacing),
    release: async (sessionId, epoch) => release(data, sessionId, epoch),
    append: async (write) => append(data, write),
    read: async (sessionId, options) => read(find(data, sessionId).facts, options),
    snapshot: async (sessionId) => data.sessions.get(sessionId)?.snapshot,
    mail: async (sessionId) => [...find(data, sessionId).unread.values()],
    summary: async (sessionId) => summaryOf(data, sessionId),
    list: async (filter) => list(data, filter),
    pending: async () => [...data.sessions.values()].filter((session) => isPending(session)).map(toPending),
    fireTimers: async (now) => fireTimers(data, now),
    register: async (owner) => void data.owners.set(owner, { beat: ++data.beats, alive: true }),
    beat: async (owner) => void data.owners.set(owner, { alive: true, ...data.owners.get(owner), beat: ++data.beats }),
    owners: async () => owners(data),
    putBlob: async (hash, bytes) => putBlob(data, hash, bytes),
    blob: async (hash) => data.blobs.get(hash)?.bytes.slice(),
    remove: async (sessionId) => remove(data, sessionId),
    moveKey: async (from, to) => moveKey(data, from, to),
    watch(tell) {
      const own = (): void => tell(); // the same function may watch twice
      watchers.add(own);
      return () => void watchers.delete(own);
    },
    close: async () => {},
    kill(owner) {
      data.owners.set(owner, { beat: data.owners.get(owner)?.beat ?? 0, alive: false });
      changed();
    },
  };
}

type Data = {
  /** To be called after each change, and only then: watchers look at the store when they hear of one. */
  readonly changed: () => void;
  readonly sessions: Map<string, Session>;
  /** Session id by (tenant, key). */
  readonly keys: Map<string, string>;
  readonly blobs: Map<string, Blob>;
  readonly owners: Map<string, { readonly beat: number; readonly alive: boolean }>;
  made: number;
  beats: number;
};
/** `unnamed`: how often it was put without having been named by a fact or mail since. */
type Blob = { readonly bytes: Uint8Array; unnamed: number };
type Session = {
  readonly id: string;
  readonly number: number;
  readonly tenant: string;
  key: string | undefined;
  summary: SessionSummary;
  owner: string | undefined;
  epoch: number;
  readonly facts: Fact[];
  readonly unread: Map<number, MailboxEntry>;
  readonly received: Map<string, { readonly digest: string; readonly accepted: Accepted }>;
  positions: number;
  readonly timers: Map<string, number>;
  snapshot: Snapshot | undefined;
  readonly blobs: Set<string>;
};

function emptyData(changed: () => void): Data {
  const maps = { sessions: new Map(), keys: new Map(), blobs: new Map(), owners: new Map() };
  return { changed, ...maps, made: 0, beats: 0 };
}

function create(data: Data, made: NewSession): { readonly sessionId: string; readonly created: boolean } {
  const { sessionId, key, tenant = "", facts, copyOf } = made;
  if (data.sessions.has(sessionId)) return { sessionId, created: false };
  const holder = key === undefined ? undefined : data.keys.get(keyOf(tenant, key));
  if (holder !== undefined) return { sessionId: holder, created: false };
  if (copyOf !== undefined) find(data, copyOf);
  const session: Session = {
    id: sessionId,
    number: ++data.made,
    tenant,
    key,
    summary: made.summary,
    owner: undefined,
    epoch: 0,
    facts: [],
    unread: new Map(),
    received: new Map(),
    positions: 0,
    timers: new Map(),
    snapshot: undefined,
    blobs: new Set(),
  };
  checkFacts(session, facts);
  addFacts(data, session, facts);
  data.sessions.set(sessionId, session);
  if (key !== undefined) data.keys.set(keyOf(tenant, key), sessionId);
  data.changed();
  return { sessionId, created: true };
}

function submit(data: Data, mail: NewMail): Accepted {
  const session = find(data, mail.sessionId);
  const known = session.received.get(mail.key);
  if (known !== undefined) {
    if (known.digest === mail.digest) return known.accepted;
    throw new CapstanError("idempotency-conflict", `The key ${mail.key} was used for another request; use a new key`);
  }
  if (mail.ifIdle === true && (session.summary.status !== "idle" || hasInput(session))) {
    throw new CapstanError("session-busy", `Session ${session.id} is busy; wait for its run or queue the input`, {
      retryable: true,
    });
  }
  session.received.set(mail.key, { digest: mail.digest, accepted: mail.accepted });
  post(session, { key: mail.key, actor: mail.actor, ...mail.body, position: ++session.positions });
  nameBlobs(data, session, mail.body);
  data.changed();
  return mail.accepted;
}

function claim(data: Data, sessionId: string, owner: string, replacing?: string): Claim | undefined {
  const session = find(data, sessionId);
  if (session.owner !== undefined && session.owner !== owner && session.owner !== replacing) return undefined;
  session.owner = owner;
  session.epoch += 1;
  data.changed();
  return { epoch: session.epoch, head: session.facts.length };
}

function release(data: Data, sessionId: string, epoch: number): void {
  const session = data.sessions.get(sessionId);
  if (session?.owner === undefined || session.epoch !== epoch) return;
  session.owner = undefined;
  data.changed();
}

function append(data: Data, write: Append): void {
  const session = data.sessions.get(write.sessionId);
  if (session === undefined || session.owner === undefined || session.epoch !== write.epoch) {
    throw new CapstanError("lost-ownership", `Session ${write.sessionId} is no longer held by this worker`);
  }
  checkFacts(session, write.facts);
  for (const position of write.consumes ?? []) {
    if (!session.unread.has(position)) throw conflict(session.id, `mail ${position} was consumed before`);
  }
  addFacts(data, session, write.facts);
  for (const position of write.consumes ?? []) session.unread.delete(position);
  for (const { name, at } of write.timers ?? []) {
    if (at === undefined) session.timers.delete(name);
    else session.timers.set(name, at);
  }
  if (write.summary !== undefined) session.summary = write.summary;
  if (write.snapshot !== undefined) session.snapshot = write.snapshot;
  data.changed();
}

function read(facts: readonly Fact[], options: ReadFacts): readonly Fact[] {
  const { after, through = facts.length, limit = LIMITS.readPage, types } = options;
  const start = Math.max(after, 0);
  if (types === undefined) return facts.slice(start, Math.min(through, start + limit));
  const found: Fact[] = [];
  for (const fact of facts.slice(start, through)) {
    if (found.length >= limit) break;
    if (types.includes(fact.type)) found.push(fact);
  }
  return found;
}

function list(data: Data, filter: SessionFilter): readonly SessionSummary[] {
  const { status, agent, key, tenant, parent, before, limit = Infinity } = filter;
  const below = before === undefined ? Infinity : find(data, before).number;
  const found: SessionSummary[] = [];
  for (const session of [...data.sessions.values()].toReversed()) {
    if (found.length >= limit) break;
    const { summary } = session;
    if (session.number >= below) continue;
    if (status !== undefined && summary.status !== status) continue;
    if (agent !== undefined && summary.agent !== agent) continue;
    if (key !== undefined && session.key !== key) continue;
    if (tenant !== undefined && session.tenant !== tenant) continue;
    if (parent !== undefined && summary.parent !== parent) continue;
    found.push(toSummary(data, session));
  }
  return found;
}

function fireTimers(data: Data, now: number): number | undefined {
  const due: { readonly session: Session; readonly name: string; readonly at: number }[] = [];
  let next: number | undefined;
  for (const session of data.sessions.values()) {
    for (const [name, at] of session.timers) {
      if (at <= now) due.push({ session, name, at });
      else next = Math.min(at, next ?? at);
    }
  }
  for (const { session, name } of due.toSorted((a, b) => a.at - b.at)) {
    session.timers.delete(name);
    const position = ++session.positions;
    const actor = { id: "timer", door: "store" };
    post(session, { key: `timer/${name}/${position}`, actor, type: "timer", name, position });
  }
  if (due.length > 0) data.changed();
  return next;
}

function owners(data: Data): readonly OwnerState[] {
  const found = new Map<string, OwnerState>();
  for (const [owner, state] of data.owners) found.set(owner, { owner, ...state });
  for (const { owner } of data.sessions.values()) {
    if (owner !== undefined && !found.has(owner)) found.set(owner, { owner, beat: 0, alive: false });
  }
  return [...found.values()];
}

function putBlob(data: Data, hash: string, bytes: Uint8Array): void {
  if (bytes.length > LIMITS.blobBytes) {
    throw new CapstanError("blob-too-large", `A blob holds at most ${LIMITS.blobBytes} bytes, not ${bytes.length}`);
  }
  const known = data.blobs.get(hash);
  if (known === undefined) data.blobs.set(hash, { bytes: bytes.slice(), unnamed: 1 });
  else known.unnamed += 1;
}

function remove(data: Data, sessionId: string): void {
  const session = data.sessions.get(sessionId);
  if (session === undefined) return;
  data.sessions.delete(sessionId);
  if (session.key !== undefined) data.keys.delete(keyOf(session.tenant, session.key));
  for (const hash of session.blobs) {
    const named = data.sessions.values().some((other) => other.blobs.has(hash));
    if (!named && data.blobs.get(hash)?.unnamed === 0) data.blobs.delete(hash);
  }
  data.changed();
}

function moveKey(data: Data, fromId: string, toId: string): void {
  const from = find(data, fromId);
  const to = find(data, toId);
  const { key } = from;
  if (key === undefined || from === to) return;
  const holder = data.keys.get(keyOf(to.tenant, key));
  if (holder !== undefined && holder !== fromId) throw conflict(toId, `its tenant has another session with the key`);
  data.keys.delete(keyOf(from.tenant, key));
  if (to.key !== undefined) data.keys.delete(keyOf(to.tenant, to.key));
  data.keys.set(keyOf(to.tenant, key), toId);
  from.key = undefined;
  to.key = key;
  data.changed();
}

function find(data: Data, sessionId: string): Session {
  const session = data.sessions.get(sessionId);
  if (session === undefined) throw new CapstanError("session-not-found", `There is no session ${sessionId}`);
  return session;
}

function checkFacts(session: Session, facts: readonly Fact[]): void {
  let seq = session.facts.length;
  for (const fact of facts) {
    seq += 1;
    if (fact.seq !== seq) {
      throw new CapstanError("lost-ownership", `Session ${session.id} goes on at fact ${seq}, not at ${fact.seq}`);
    }
  }
}

function addFacts(data: Data, session: Session, facts: readonly Fact[]): void {
  for (const fact of facts) {
    session.facts.push(fact);
    nameBlobs(data, session, fact);
  }
}

function nameBlobs(data: Data, session: Session, body: object): void {
  if (data.blobs.size === 0) return;
  for (const hash of namedBlobs(JSON.stringify(body))) {
    const blob = data.blobs.get(hash);
    if (blob === undefined) continue;
    blob.unnamed = Math.max(0, blob.unnamed - 1);
    session.blobs.add(hash);
  }
}

function post(session: Session, entry: MailboxEntry): void {
  session.unread.set(entry.position, entry);
}

function hasInput(session: Session): boolean {
  return session.unread.values().some((entry) => entry.type === "op" && entry.op.type === "send");
}

function isPending(session: Session): boolean {
  return session.unread.size > 0 || session.summary.status === "running";
}

function toPending({ id, summary, owner }: Session): { sessionId: string; agent: string; owner?: string } {
  return { sessionId: id, agent: summary.agent, ...(owner !== undefined && { owner }) };
}

function summaryOf(data: Data, sessionId: string): SessionSummary | undefined {
  const session = data.sessions.get(sessionId);
  return session && toSummary(data, session);
}

/** Head, key and holder are the store's own: the holder's copy may be older. */
function toSummary({ owners }: Data, session: Session): SessionSummary {
  const { key: _key, held: _held, ...summary } = session.summary;
  const held = session.owner !== undefined && owners.get(session.owner)?.alive === true;
  const own = { ...(session.key !== undefined && { key: session.key }), ...(held && { held }) };
  return { ...summary, ...own, head: session.facts.length };
}

function keyOf(tenant: string, key: string): string {
  return JSON.stringify([tenant, key]);
}

function conflict(sessionId: string, why: string): CapstanError {
  return new CapstanError("store-conflict", `Session ${sessionId} refused the write: ${why}`);
}
