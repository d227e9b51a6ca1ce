/**
 * Marks all that a server's command starts, wrappers with grandchildren too, and ends it. The mark is the one the local
 * workspace gives its programs: what outlives a killed Capstan is found and ended by the next one.
 */

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { type Clock, sleep, systemClock, systemIds } from "@capstan/core";
import { MCP_LIMITS } from "../limits.ts";

const VARIABLE = "CAPSTAN_RUN";
const ids = systemIds(() => systemClock.now());

export type ProcessMark = { readonly tag: string; readonly env: { readonly [name: string]: string } };

/** Linux tells the environment of other processes; elsewhere the process group is all there is. */
export function processMark(): ProcessMark | undefined {
  try {
    const namespace = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
    const tag = `${namespace}.${process.pid}.${statOf("self")[19] ?? 0}.${ids.random()}`;
    const outer = process.env[VARIABLE] ?? "";
    return { tag, env: { [VARIABLE]: outer === "" ? tag : `${outer},${tag}` } };
  } catch {
    return undefined;
  }
}

/**
 * Ends a group and whatever carries its mark: SIGTERM, and after `MCP_LIMITS.termMs` SIGKILL. Resolves when nothing is left,
 * or `MCP_LIMITS.killMs` after the first SIGKILL, however long a look at the processes takes.
 */
export async function endProcesses(group: number, mark: ProcessMark | undefined, clock: Clock): Promise<void> {
  const asked = new Set<number>();
  const patience = clock.monotonic() + MCP_LIMITS.termMs;
  let end = Number.POSITIVE_INFINITY;
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    const found = livingOf(group, mark);
    const now = clock.monotonic();
    if (found.length === 0 || now > end) return;
    if (now >= patience) end = Math.min(end, now + MCP_LIMITS.killMs);
    for (const pid of found) {
      if (now >= patience) signal(pid, "SIGKILL");
      else if (!asked.has(pid)) signal(pid, "SIGTERM");
      asked.add(pid);
    }
    await sleep(clock, pauseMs);
  }
}

/** Process numbers; the group itself, as a negative number, where processes cannot be looked at. */
function livingOf(group: number, mark: ProcessMark | undefined): readonly number[] {
  if (mark === undefined) return signal(-group, 0) ? [-group] : [];
  const rows = readdirSync("/proc").flatMap((name) => rowOf(name, group, mark.tag));
  const members = new Set(rows.filter(({ own }) => own).map(({ pid }) => pid));
  for (let grown = members.size > 0; grown;) {
    const more = rows.filter(({ pid, parent }) => members.has(parent) && !members.has(pid));
    for (const { pid } of more) members.add(pid);
    grown = more.length > 0;
  }
  return [...members];
}

type Row = { readonly pid: number; readonly parent: number; readonly own: boolean };

function rowOf(name: string, group: number, tag: string): readonly Row[] {
  const pid = Number(name);
  if (!Number.isInteger(pid) || pid === process.pid || pid <= 1) return [];
  try {
    const [state = "Z", parent, processGroup, session] = statOf(name);
    if (/^[ZX]/i.test(state)) return [];
    const own = Number(processGroup) === group || Number(session) === group || carries(name, tag);
    return [{ pid, parent: Number(parent), own }];
  } catch {
    return []; // it has ended
  }
}

function carries(pid: string, tag: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").includes(tag);
  } catch {
    return false; // another user's, or it has ended
  }
}

/** Fields of `/proc/<pid>/stat` from the third on: the second, the program's name, may hold spaces and brackets. */
function statOf(pid: string): readonly string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false; // ended meanwhile
  }
}
