/**
 * Marks what a command of the settings starts and ends all of it, in whatever group or session it put itself. The mark is
 * the one the local workspace gives its programs: what outlives this process is found by the next one.
 */

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { systemClock, systemIds } from "@capstan/core";

const VARIABLE = "CAPSTAN_RUN";
/** One process may start the next while it is looked for. */
const ROUNDS = 5;
const ids = systemIds(() => systemClock.now());

export type HookMark = {
  /** Goes into the environment of the command. */
  readonly env: { readonly [name: string]: string };
  readonly tag: string;
};

/** Linux tells the environment of other processes; elsewhere there is no mark. */
export function hookMark(): HookMark | undefined {
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

/** Ends every process that carries the mark. */
export function endMarked({ tag }: HookMark): void {
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isMarked(name, tag));
    if (found.length === 0) return;
    for (const pid of found) {
      try {
        process.kill(Number(pid), "SIGKILL");
      } catch {
        // ended meanwhile
      }
    }
  }
}

function isMarked(pid: string, tag: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").includes(tag);
  } catch {
    return false; // another user's, or it has ended
  }
}
