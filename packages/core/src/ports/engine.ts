/** The engine port: where and when the loop of a session runs, one at a time. Doors and workers hold this. */

import type { Cursor, Envelope, Fact } from "../words/event.ts";
import type { Accepted, Op } from "../words/op.ts";
import type { Actor } from "../words/request.ts";
import type { Journal } from "./journal.ts";
import type { LogSlice, SessionFilter, SessionSummary, Snapshot } from "./store.ts";

export interface Engine {
  readonly id: string;
  /** Resolves when durable. Same key and body: same answer; other body: `idempotency-conflict`. */
  submit(op: Op, options: { readonly idempotencyKey: string; readonly actor: Actor }): Promise<Accepted>;
  /** Tells a session that the run of a sub-agent has ended. Resolves when durable; a run is told once. */
  childFinished(sessionId: string, childSessionId: string, runId: string): Promise<void>;
  events(sessionId: string, options?: EventsOptions): AsyncIterable<Envelope>;
  /** Stored facts, oldest first. */
  read(sessionId: string, options?: LogSlice): AsyncIterable<Fact>;
  snapshot(sessionId: string): Promise<Snapshot | undefined>;
  list(filter: SessionFilter): Promise<readonly SessionSummary[]>;
  summary(sessionId: string): Promise<SessionSummary | undefined>;
  /** Drives sessions until `signal` aborts. "own": those this engine object submitted to or was asked to adopt; "all": every one. */
  work(drive: Drive, options: WorkOptions): Promise<void>;
  /** With `which: "own"`: this process drives that session too. `waiting`: also while it waits for a person, who may be here. */
  adopt(sessionId: string, options?: { readonly waiting?: boolean }): void;
  putBlob(bytes: Uint8Array): Promise<string>;
  blob(hash: string): Promise<Uint8Array>;
  close(): Promise<void>;
}

export type EventsOptions = {
  /** Default: from the first fact. */
  readonly after?: Cursor;
  readonly signal?: AbortSignal;
  /** Watching does not keep the process alive. */
  readonly background?: boolean;
};
/**
 * `children`: also the events of sub-agents, each envelope with the session it is of. `live: false`: facts only, without
 * deltas, progress and notices.
 */
export type FollowOptions = EventsOptions & { readonly children?: boolean; readonly live?: boolean };
export type Drive = (journal: Journal) => Promise<"finished" | "parked">;
export type WorkOptions = { readonly which: "own" | "all"; readonly signal: AbortSignal };
