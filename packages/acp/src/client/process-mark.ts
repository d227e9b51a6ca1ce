/**
 * Marks what an agent's process starts and ends all of it, in whatever group or session it put itself. The mark is the
 * one of the programs of the local workspace: what outlives this process is found by the next Capstan.
 */

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { systemClock, systemIds } from "@capstan/core";
import type { Environment } from "./agent-env.ts";

const VARIABLE = "CAPSTAN_RUN";
/** One process may start the next while it is looked for. */
const ROUNDS = 5;
const ids = systemIds(() => systemClock.now());

export type ProcessMark = { readonly env: Environment; readonly tag: string };

/** Linux tells the environment of other processes; elsewhere there is no mark, and the group is all that is known. */
export function processMark(): ProcessMark | undefined {
  try {
    const namespace = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
    const stat = readFileSync("/proc/self/stat", "latin1");
    const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "0";
    const tag = `${namespace}.${process.pid}.${start}.${ids.random()}`;
    const outer = process.env[VARIABLE] ?? "";
    return { tag, env: { [VARIABLE]: outer === "" ? tag : `${outer},${tag}` } };
  } catch {
    return undefined;
  }
}

/** Sends SIGKILL to every process that carries the mark, and to the group. */
export function killMarked(mark: ProcessMark | undefined, group: number): void {
  signalGroup(group, "SIGKILL");
  if (mark === undefined) return;
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isMarked(name, mark.tag));
    if (found.length === 0) return;
    for (const pid of found) signal(Number(pid), "SIGKILL");
  }
}

export function signalGroup(group: number, name: NodeJS.Signals): void {
  signal(process.platform === "win32" ? group : -group, name);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it has ended
  }
}

function isMarked(pid: string, tag: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").includes(tag);
  } catch {
    return false; // another user's, or it has ended
  }
}
