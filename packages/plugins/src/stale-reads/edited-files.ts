/** Which results of reads are out of date because their file was edited since: a fold of calls and their ends. */

import { posix } from "node:path";
import type { Fact, FactOf } from "@capstan/core";
import { recorded } from "../own-facts.ts";
import { forget, recall, remember, type Remembered } from "../remembered.ts";

export const PLUGIN_NAME = "stale-reads";
const CALLS = 1_000;
const READS = 5_000;

/** A finished read: `seq` of its result, `name` as the model wrote the path. */
export type Read = { readonly callId: string; readonly path: string; readonly name: string; readonly seq: number };
type Open = {
  readonly kind: "read" | "edit";
  readonly startedSeq: number;
  readonly paths: readonly (readonly [string, string])[];
};
export type Recorded = { readonly leftOut: readonly string[] };
/**
 * `now` and `askedAt`: times of the newest fact and of the end of the newest model call. `isCold`: what a provider has
 * cached of the conversation is void.
 */
export type Own = {
  readonly root: string;
  readonly open: Remembered<Open>;
  readonly reads: readonly Read[];
  readonly stale: readonly Read[];
  readonly leftOut: readonly Read[];
  readonly now: number;
  readonly askedAt: number;
  readonly isCold: boolean;
};
export const START: Own = { root: "/", open: [], reads: [], stale: [], leftOut: [], now: 0, askedAt: 0, isCold: true };

export function nextReads(before: Own, fact: Fact): Own {
  const own = { ...before, now: Math.max(before.now, fact.at) };
  switch (fact.type) {
    case "session.created":
      return { ...own, root: fact.workspace?.root ?? "/" };
    case "tool.started":
      return started(own, fact);
    case "tool.finished":
      return finished(own, fact);
    case "turn.finished":
      return { ...own, askedAt: fact.at, isCold: false };
    case "prefix.set":
      return { ...own, isCold: true };
    case "context.compacted": {
      const kept = (reads: readonly Read[]): readonly Read[] => reads.filter(({ seq }) => seq > fact.throughSeq);
      return { ...own, reads: kept(own.reads), stale: kept(own.stale), leftOut: kept(own.leftOut), isCold: true };
    }
    case "data": {
      const ids = recorded<Recorded>(fact, PLUGIN_NAME)?.leftOut ?? [];
      const isNow = ({ callId }: Read): boolean => ids.includes(callId);
      if (ids.length === 0) return own;
      const leftOut = [...own.leftOut, ...own.stale.filter(isNow)];
      return { ...own, stale: own.stale.filter((read) => !isNow(read)), leftOut };
    }
    default:
      return own;
  }
}

function started(own: Own, { callId, kind, locations = [], seq }: FactOf<"tool.started">): Own {
  if (locations.length === 0 || (kind !== "edit" && (kind !== "read" || locations.length > 1))) return own;
  const paths = locations.map(({ path }) => [posix.resolve(own.root, path), path] as const);
  return { ...own, open: remember(own.open, callId, { kind, startedSeq: seq, paths }, CALLS) };
}

function finished(own: Own, { callId, status, seq }: FactOf<"tool.finished">): Own {
  const call = recall(own.open, callId);
  if (call === undefined) return own;
  const done = { ...own, open: forget(own.open, callId) };
  if (status !== "ok") return done;
  if (call.kind === "read") {
    const reads = call.paths.map(([path, name]) => ({ callId, path, name, seq }));
    return { ...done, reads: [...own.reads, ...reads].slice(-READS) };
  }
  // what was read beside the edit may have seen what it wrote
  const isStale = (read: Read): boolean =>
    read.seq < call.startedSeq && call.paths.some(([path]) => path === read.path);
  return {
    ...done,
    reads: own.reads.filter((read) => !isStale(read)),
    stale: [...own.stale, ...own.reads.filter(isStale)].slice(-READS),
  };
}
