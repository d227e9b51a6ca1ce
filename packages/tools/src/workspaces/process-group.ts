/**
 * Finds and ends everything a run started: its group and session, whatever carries its tag in the environment or its
 * mark as a descriptor, and the children of all these. Elsewhere than on Linux only the group is known.
 */

import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { sleep, type Clock } from "@capstan/core";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { isOrphanTag, MARK_DESCRIPTOR, RUN_FOLDER, startOf, statFields, TAG_VARIABLE } from "./run-tag.ts";

/** `since`: start of the run's first process; what is older is none of its own and is not looked into. */
export type RunMark = { readonly tag: string; readonly group: number; readonly since: string | undefined };
/** A living process: zombies are none. `start` tells it from a later one of the same number. */
export type Found = {
  readonly pid: number;
  readonly start: string;
  /** A wrapper that takes all it holds with it at once: it is left alone until the others had their time. */
  readonly wrapper?: true;
};

type Row = Found & { readonly parent: number; readonly group: number; readonly session: number };

const PROC = process.platform === "linux" && existsSync("/proc/self/stat");

/** What still runs of a run, this process excepted. */
export function findProcesses(mark: RunMark): readonly Found[] {
  if (!PROC) return groupAlive(mark.group) ? [{ pid: -mark.group, start: "" }] : [];
  const since = Number(mark.since ?? 0);
  return withChildren((row) => {
    if (Number(row.start) < since) return false;
    return (
      row.group === mark.group || row.session === mark.group || tagsOf(row.pid).some((tags) => tags.includes(mark.tag))
    );
  });
}

/** Processes of runs whose Capstan is gone. */
function findOrphans(): readonly Found[] {
  return PROC ? withChildren((row) => tagsOf(row.pid).some((tags) => isOrphanTag(tags))) : [];
}

/**
 * Sends SIGTERM, after a grace SIGKILL, until `find` finds nothing or `killMs` are over since the first SIGKILL, however
 * long a look takes on a busy machine. Returns how many were found. The same process is asked once; what it starts
 * meanwhile is found again.
 */
export async function endProcesses(find: () => readonly Found[], clock: Clock): Promise<number> {
  const seen = new Set<string>();
  const graceEnd = clock.monotonic() + TOOL_LIMITS.killGraceMs;
  let end = Number.POSITIVE_INFINITY;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, 40)) {
    const found = find();
    const now = clock.monotonic();
    if (found.length === 0 || now > end) return seen.size;
    if (now >= graceEnd) end = Math.min(end, now + TOOL_LIMITS.killMs);
    for (const one of found) {
      const name = `${one.pid}:${one.start}`;
      if (now >= graceEnd) signalTo(one, "SIGKILL");
      else if (!seen.has(name) && one.wrapper !== true) signalTo(one, "SIGTERM");
      seen.add(name);
    }
    await sleep(clock, now < graceEnd ? Math.min(pauseMs, graceEnd - now) : pauseMs);
  }
}

/** Waits until `find` finds nothing, at most `ms`. Returns what is left. */
export async function awaitEnd(find: () => readonly Found[], ms: number, clock: Clock): Promise<readonly Found[]> {
  const end = clock.monotonic() + ms;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, 40)) {
    const found = find();
    if (found.length === 0 || clock.monotonic() >= end) return found;
    await sleep(clock, pauseMs);
  }
}

/** Ends what runs of a Capstan that was killed left behind on this machine. Returns how many processes that were. */
export function endLeftovers(clock: Clock): Promise<number> {
  return endProcesses(findOrphans, clock);
}

/** Scans that follow each other when what is listed keeps ending: a busy machine must not hold this one up. */
const MAX_SCANS = 6;

/**
 * A scan takes time: a process may start another and end between the list and the look at it, and neither is seen. So
 * an empty scan counts only when nothing that was listed had ended meanwhile.
 */
function withChildren(isMember: (row: Row) => boolean): readonly Found[] {
  let ended = "";
  for (let scan = 1; ; scan += 1) {
    const { rows, gone } = scanProcesses();
    const found = membersOf(rows, isMember);
    if (found.length > 0 || gone === "" || gone === ended || scan === MAX_SCANS) return found;
    ended = gone; // the same ones again: zombies nobody collects
  }
}

function membersOf(rows: readonly Row[], isMember: (row: Row) => boolean): readonly Found[] {
  const members = new Set(rows.filter((row) => isMember(row)).map((row) => row.pid));
  for (let grown = members.size > 0; grown;) {
    grown = false;
    for (const { pid, parent } of rows) {
      if (members.has(parent) && !members.has(pid)) grown = members.add(pid) !== undefined;
    }
  }
  return rows.filter((row) => members.has(row.pid)).map(({ pid, start }) => ({ pid, start }));
}

/** Living processes, and the numbers of those that were listed but had ended. */
function scanProcesses(): { readonly rows: readonly Row[]; readonly gone: string } {
  const rows: Row[] = [];
  const gone: number[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid || pid <= 1) continue;
    try {
      const [state = "", parent, group, session, ...rest] = statFields(readFileSync(`/proc/${pid}/stat`, "latin1"));
      if (/^[ZX]/i.test(state)) gone.push(pid);
      else
        rows.push({
          pid,
          parent: Number(parent),
          group: Number(group),
          session: Number(session),
          start: rest[15] ?? "",
        });
    } catch {
      gone.push(pid);
    }
  }
  return { rows, gone: gone.join() };
}

/** Tags a process carries: in its environment, and in the name of its mark. */
function tagsOf(pid: number): readonly string[] {
  const tags: string[] = [];
  try {
    const entry = readFileSync(`/proc/${pid}/environ`, "latin1")
      .split("\0")
      .find((line) => line.startsWith(`${TAG_VARIABLE}=`));
    if (entry !== undefined) tags.push(entry.slice(TAG_VARIABLE.length + 1));
  } catch {
    // another user's process, or it has ended
  }
  try {
    const link = readlinkSync(`/proc/${pid}/fd/${MARK_DESCRIPTOR}`);
    const tag = link.split(`/${RUN_FOLDER}`)[1]?.split("/")[0];
    if (tag !== undefined) tags.push(tag);
  } catch {
    // no such descriptor
  }
  return tags;
}

function signalTo({ pid, start }: Found, signal: NodeJS.Signals): void {
  if (pid > 0 && startOf(pid) !== start) return; // ended, and perhaps another's number by now
  try {
    process.kill(pid, signal);
  } catch {
    // ended meanwhile, or not ours to end
  }
}

function groupAlive(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    return false;
  }
}
