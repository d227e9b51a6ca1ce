/** The store port: sessions, their logs and mailboxes in one place. `storeEngine` makes an engine of any store. */

import type { SessionStatus } from "../state/session-state.ts";
import type { Fact, FactBody, WorkspaceRef } from "../words/event.ts";
import type { Json } from "../words/json.ts";
import type { Usage } from "../words/message.ts";
import type { Accepted, MailBody, MailboxEntry } from "../words/op.ts";
import type { Actor, OpenRequest } from "../words/request.ts";

/**
 * Every method is one transaction and resolves when it is durable as asked. Calls of one tick may share a commit, in the
 * order they were made. A failed write or sync rejects with `store-failed`, `store-full` or `store-readonly`; nothing of
 * its transaction is then visible. Reading a damaged session throws `session-damaged` and leaves the others usable.
 */
export interface Store {
  readonly id: string;
  /** Creates the session with its first facts, or answers which session already has this id or (tenant, key). Synced. */
  create(session: NewSession): Promise<{ readonly sessionId: string; readonly created: boolean }>;
  /** Puts an entry into the mailbox, once for each key; a known key with the same digest answers with the stored ids. Synced. */
  submit(mail: NewMail): Promise<Accepted>;
  /** Takes the session for `owner`, raising its epoch; `undefined` when another one has it. `replacing` names the owner to displace. */
  claim(sessionId: string, owner: string, replacing?: string): Promise<Claim | undefined>;
  /** Gives the session back, when `epoch` still holds it. */
  release(sessionId: string, epoch: number): Promise<void>;
  /** Checks the epoch and that the first fact is `head + 1`, else throws `lost-ownership`. `sync`: on disk, in `full` durability. */
  append(write: Append, options: { readonly sync: boolean }): Promise<void>;
  /** Facts after `after` in order, at most `limit` (default `LIMITS.readPage`); with `types` only those. */
  read(sessionId: string, options: ReadFacts): Promise<readonly Fact[]>;
  snapshot(sessionId: string): Promise<Snapshot | undefined>;
  /** Entries not yet consumed, oldest first. */
  mail(sessionId: string): Promise<readonly MailboxEntry[]>;
  summary(sessionId: string): Promise<SessionSummary | undefined>;
  /** Newest first. A long one may be read in pieces: sessions that change meanwhile are in it as they were or as they are. */
  list(filter: SessionFilter): Promise<readonly SessionSummary[]>;
  /** Sessions with unread mail or a run that could go on, with who has them. */
  pending(): Promise<readonly PendingSession[]>;
  /** Moves timers due at `now` into the mailboxes; answers when the next one is due. */
  fireTimers(now: number): Promise<number | undefined>;
  /** Registers this process as an owner. Its sign of life is `beat`. */
  register(owner: string): Promise<void>;
  beat(owner: string): Promise<void>;
  owners(): Promise<readonly OwnerState[]>;
  /** Content addressed; a known hash is written once. */
  putBlob(hash: string, bytes: Uint8Array): Promise<void>;
  blob(hash: string): Promise<Uint8Array | undefined>;
  /** Deletes the session with all that belongs to it, and blobs that nothing names any more. */
  remove(sessionId: string): Promise<void>;
  /** Moves the key of one session to another. */
  moveKey(fromSessionId: string, toSessionId: string): Promise<void>;
  /** Calls back after changes that this object did not make (another process, another connection). Returns the end of it. */
  watch(changed: () => void): () => void;
  /** Syncs what is outstanding and closes. May be called twice. */
  close(): Promise<void>;
}

export type NewSession = {
  readonly sessionId: string;
  readonly key?: string;
  readonly tenant?: string;
  readonly facts: readonly Fact[];
  readonly summary: SessionSummary;
  /** The session that these facts were copied from. When it is gone, what they name may be too: throws `session-not-found`. */
  readonly copyOf?: string;
};
export type NewMail = {
  readonly sessionId: string;
  /** Idempotency key, unique in the session. */
  readonly key: string;
  /** SHA-256 of the body without minted ids: another digest under a known key is `idempotency-conflict`. */
  readonly digest: string;
  readonly actor: Actor;
  readonly body: MailBody;
  readonly accepted: Accepted;
  /** Throws `session-busy` unless the session is idle with no unread input. A known key is answered first. */
  readonly ifIdle?: boolean;
};
export type Claim = { readonly epoch: number; readonly head: number };
export type Append = {
  readonly sessionId: string;
  readonly epoch: number;
  /** Numbered by the holder: `head + 1`, `head + 2` ... May be empty when only mail is consumed. */
  readonly facts: readonly Fact[];
  /** Positions of mailbox entries that these facts answer: consumed in the same transaction. */
  readonly consumes?: readonly number[];
  readonly summary?: SessionSummary;
  /** `at` undefined cancels the timer of that name. */
  readonly timers?: readonly { readonly name: string; readonly at: number | undefined }[];
  readonly snapshot?: Snapshot;
};
/** What to read of a log: facts after `after` (default all), with `types` only those. */
export type LogSlice = { readonly after?: number; readonly types?: readonly FactBody["type"][] };
export type ReadFacts = {
  readonly after: number;
  readonly through?: number;
  readonly limit?: number;
  readonly types?: readonly FactBody["type"][];
};
/** A disposable fold of the facts up to `seq`. Readers drop one of another `version`. */
export type Snapshot = { readonly seq: number; readonly version: number; readonly data: Json };
export type OwnerState = {
  readonly owner: string;
  readonly beat: number;
  /** Known to be dead or alive (same host); `undefined` when only the beat can tell. */
  readonly alive: boolean | undefined;
};
export type PendingSession = { readonly sessionId: string; readonly agent: string; readonly owner?: string };

/** Kept up to date by the holder with every append that changes it; `list` reads only this. Written a few times a run. */
export type SessionSummary = {
  readonly sessionId: string;
  readonly agent: string;
  readonly key?: string;
  readonly tenant?: string;
  readonly title?: string;
  /** Where its tools act; absent in sessions without a folder, and in those of the first stores. */
  readonly workspace?: WorkspaceRef;
  readonly status: SessionStatus;
  /** Accepted inputs that no run has taken up yet. */
  readonly queued: number;
  /** A process drives it now, as far as can be told from here. Only in what a store answers with; never stored. */
  readonly held?: true;
  /** The unfinished run, if there is one. */
  readonly runId?: string;
  readonly openRequests: readonly OpenRequest[];
  /** Of finished runs. */
  readonly usage: Usage;
  readonly parent?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly head: number;
};
export type SessionFilter = {
  readonly status?: SessionStatus;
  readonly agent?: string;
  readonly key?: string;
  readonly tenant?: string;
  readonly parent?: string;
  /** Session id: only sessions made before it. */
  readonly before?: string;
  readonly limit?: number;
};

const BLOB_NAME = /"(?:blob|hash)":"([0-9a-f]{64})"/g;

/** Hashes that a fact or mail, given as JSON text, may name as blobs: what keeps a blob from being removed. */
export function namedBlobs(text: string): readonly string[] {
  if (!text.includes('blob"')) return []; // both `"blob":` and `"type":"blob"` have it
  return Array.from(text.matchAll(BLOB_NAME), ([, hash]) => hash ?? "");
}
