/** A bounded pool: work on one session keeps its order on one connection, and long work on all of them has its own. */

import type { Connection } from "./connection.ts";
import { lane, type Ask, type Lane, type LaneOptions, type Work } from "./lane.ts";

export interface Lanes {
  /** Work without a session: lists, timers, owners, blobs. */
  do<T>(sessionId: string | undefined, ask: Ask, work: Work<T>): Promise<T>;
  /** Resolves when all commits so far are on disk, in `relaxed` durability too. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Connections of one store, opened when they are needed; one more listens. */
const SESSION_LANES = 3;

/** Writes something, so that there is a commit to sync; Postgres syncs all that was committed before with it. */
const BARRIER = "UPDATE barrier SET value = value + 1";

/** `db` is open already: the first that is used. */
export function lanes(options: LaneOptions, db: Connection): Lanes {
  const common = lane(options, db);
  const own: readonly Lane[] = Array.from({ length: SESSION_LANES }, () => lane(options));
  const all = [common, ...own];
  const laneOf = (sessionId: string | undefined): Lane =>
    (sessionId === undefined ? undefined : own[placeOf(sessionId)]) ?? common;
  return {
    do: (sessionId, ask, work) => laneOf(sessionId).do(ask, work),
    async sync() {
      const idle = all.map((one) => one.idle());
      await Promise.all(idle);
      if (all.some(({ unsynced }) => unsynced)) await common.do({ kind: "barrier" }, (db) => db.run(BARRIER));
    },
    async close() {
      await Promise.all(all.map((one) => one.close()));
    },
  };
}

function placeOf(sessionId: string): number {
  let sum = 0;
  for (let at = 0; at < sessionId.length; at += 1) sum = (sum * 31 + sessionId.charCodeAt(at)) % 65_521;
  return sum % SESSION_LANES;
}
