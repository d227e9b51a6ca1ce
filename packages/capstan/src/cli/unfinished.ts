/** Which sessions are unfinished: in the middle of a run, waiting, or with an input that nobody has taken up yet. */

import { CapstanError, type Engine, type SessionSummary, type Store } from "@capstan/core";
import type { Config } from "../config.ts";
import { openEngine } from "./open-agent.ts";
import { knownSummary, withStore } from "./stored-sessions.ts";

export type Unfinished = {
  /** Oldest first. Children are driven with their parents and not listed. */
  readonly free: readonly SessionSummary[];
  /** Held by a process that is alive. */
  readonly elsewhere: readonly SessionSummary[];
};

/** All, or the one named. Throws `session-not-found` or `session-damaged` for that one. */
export async function unfinished(config: Config | undefined, id: string | undefined): Promise<Unfinished> {
  const engine = await openEngine(config);
  try {
    const pending = (await withStore(config, pendingOwners)) ?? new Map<string, boolean>();
    const known = id === undefined ? (await engine.list({})).toReversed() : [await named(engine, id)];
    const found = known.filter((summary) => {
      if (summary.status === "quarantined" || (id === undefined && summary.parent !== undefined)) return false;
      return summary.status !== "idle" || summary.queued > 0 || pending.has(summary.sessionId);
    });
    const isElsewhere = ({ sessionId }: SessionSummary): boolean => pending.get(sessionId) === true;
    return { free: found.filter((summary) => !isElsewhere(summary)), elsewhere: found.filter(isElsewhere) };
  } finally {
    if (config?.engine === undefined) await engine.close();
  }
}

async function named(engine: Engine, id: string): Promise<SessionSummary> {
  const summary = await knownSummary(engine, id);
  if (summary.status !== "quarantined") return summary;
  throw new CapstanError("session-damaged", `Session ${id} is damaged; it can be shown, exported and deleted`);
}

/** Sessions with something to do, and whether a living process has them. */
async function pendingOwners(store: Store): Promise<ReadonlyMap<string, boolean>> {
  const [pending, owners] = await Promise.all([store.pending(), store.owners()]);
  const living = new Set(owners.filter(({ alive }) => alive !== false).map(({ owner }) => owner));
  return new Map(pending.map(({ sessionId, owner }) => [sessionId, owner !== undefined && living.has(owner)]));
}
