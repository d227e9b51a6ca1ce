/** The mark every process of a run carries: in its environment, and on Linux as an inherited descriptor. */

import { readFileSync, readlinkSync } from "node:fs";
import { systemClock, systemIds } from "@capstan/core";

export const TAG_VARIABLE = "CAPSTAN_RUN";
/** Number of the inherited descriptor: above those scripts use, below those bash takes for itself. */
export const MARK_DESCRIPTOR = 30;
/** Where the shim of a confined run tells what it saw; the program does not get it. One digit: `sh` knows no others. */
export const STATUS_DESCRIPTOR = 9;
/** Folder of one run's pipes in the folder for temporary files, followed by the tag. */
export const RUN_FOLDER = "capstan-run-";

const ids = systemIds(() => systemClock.now());
/** Process namespace, process, its start in clock ticks, and a random part. */
const TAG = /^(\d+)\.(\d+)\.(\d+)\.[0-9a-f-]+$/;

/** A new tag that names this process as the owner. */
export function newTag(): string {
  return `${namespaceOf()}.${process.pid}.${startOf(process.pid) ?? 0}.${ids.random()}`;
}

/** The value for a child: a Capstan inside a Capstan hands the outer tags on, so that the outer one finds all. */
export function tagValue(tag: string, inherited: string | undefined): string {
  return inherited === undefined || inherited === "" ? tag : `${inherited},${tag}`;
}

/** Whether one of these tags names an owner of this process namespace that no longer runs. */
export function isOrphanTag(value: string): boolean {
  const namespace = namespaceOf();
  return value.split(",").some((tag) => {
    const [, where, pid, start] = TAG.exec(tag) ?? [];
    return where !== undefined && where === namespace && namespace !== "0" && startOf(Number(pid)) !== start;
  });
}

/** Start of a process in clock ticks since boot; with the number it names a process for ever. Linux only. */
export function startOf(pid: number): string | undefined {
  try {
    return statFields(readFileSync(`/proc/${pid}/stat`, "utf8"))[19];
  } catch {
    return undefined;
  }
}

/** Fields of `/proc/<pid>/stat` from the third on: the second, the program's name, may hold spaces and brackets. */
export function statFields(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function namespaceOf(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    return "0";
  }
}
