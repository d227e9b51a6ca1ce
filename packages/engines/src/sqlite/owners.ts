/** Rows of owners: which process each one is, its beat, and whether that process still lives. */

import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { LIMITS, type OwnerState } from "@capstan/core";
import type { Database } from "./database.ts";
import { fromText, toText } from "./text.ts";

/** A process as another one on this machine can find it: `started` tells it from a later one with the same number. */
export type ProcessPlace = {
  readonly pid: number;
  readonly host: string;
  /** Boot of the machine and, on Linux, the PID namespace. Empty where unknown. */
  readonly boot: string;
  readonly started: string;
};
type OwnerRow = ProcessPlace & { readonly owner: string; readonly beat: number };

export function thisProcess(): ProcessPlace {
  const boot = `${textOf("/proc/sys/kernel/random/boot_id")} ${namespaceOf()}`.trim();
  return { pid: process.pid, host: hostname(), boot, started: startedAt(process.pid) ?? "" };
}

/** Registers an owner, and forgets dead ones that hold nothing. */
export function register(db: Database, owner: string, here: ProcessPlace, now: number): void {
  for (const row of db.all<OwnerRow>("SELECT * FROM owners")) {
    if (isAlive(row, here) !== false) continue;
    db.run(
      "DELETE FROM owners WHERE owner = ? AND NOT EXISTS (SELECT 1 FROM sessions WHERE owner = owners.owner)",
      row.owner,
    );
  }
  const sql = "INSERT OR REPLACE INTO owners (owner, pid, host, boot, started, beat) VALUES (?, ?, ?, ?, ?, ?)";
  db.run(sql, toText(owner), here.pid, toText(here.host), here.boot, here.started, now);
}

/** The beat moves also when the clock does not. */
export function beat(db: Database, owner: string, here: ProcessPlace, now: number): void {
  const sql = "UPDATE owners SET beat = max(?, beat + 1) WHERE owner = ?";
  if (db.run(sql, now, toText(owner)) === 0) register(db, owner, here, now);
}

export function unregister(db: Database, owners: Iterable<string>): void {
  for (const owner of owners) db.run("DELETE FROM owners WHERE owner = ?", toText(owner));
}

/** Who holds sessions without being registered has closed its store: as good as dead. */
export function owners(db: Database, here: ProcessPlace): readonly OwnerState[] {
  const known = db.all<OwnerRow>("SELECT * FROM owners ORDER BY rowid");
  const gone = db.all<{ readonly owner: string }>(
    "SELECT DISTINCT owner FROM sessions WHERE owner IS NOT NULL AND owner NOT IN (SELECT owner FROM owners)",
  );
  return [
    ...known.map((row) => ({ owner: fromText(row.owner), beat: row.beat, alive: isAlive(row, here) })),
    ...gone.map(({ owner }) => ({ owner: fromText(owner), beat: 0, alive: false })),
  ];
}

/** Tells owners that live, or of which only the beat can tell and is young. Each is looked up once. */
export function living(db: Database, here: ProcessPlace, now: number): (owner: string) => boolean {
  const known = new Map<string, boolean>();
  return (owner) => {
    const found = known.get(owner);
    if (found !== undefined) return found;
    const row = db.get<OwnerRow>("SELECT * FROM owners WHERE owner = ?", owner);
    const lives = row !== undefined && (isAlive(row, here) ?? Math.abs(now - row.beat) < LIMITS.takeoverMs);
    known.set(owner, lives);
    return lives;
  };
}

/**
 * `undefined` when only the beat can tell: another host, another PID namespace of this one, or a process of which the
 * system does not say when it began. `startOf`: what it says.
 */
export function isAlive(
  row: ProcessPlace,
  here: ProcessPlace,
  startOf: typeof startedAt = startedAt,
): boolean | undefined {
  if (row.host !== toText(here.host)) return undefined;
  const [boot, namespace] = row.boot.split(" ");
  const [ownBoot, ownNamespace] = here.boot.split(" ");
  if (boot !== ownBoot) return false; // before the last start of the machine
  if (namespace !== ownNamespace) return undefined;
  const told = row.started !== "" && here.started !== "";
  const started = told ? startOf(row.pid) : "";
  if (started !== "") return started === row.started;
  try {
    process.kill(row.pid, 0);
    return told ? undefined : true; // somebody has this number
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false; // kill throws nothing else
    return told ? undefined : true;
  }
}

/**
 * Clock ticks from boot to the start of a living process; https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 * Empty where they cannot be read: not Linux, no such process, a hidden one, or no file to open any more.
 */
function startedAt(pid: number): string | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  if (stat === "") return "";
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name before it may hold anything
  const [state] = fields;
  return state === "Z" || state === "X" ? undefined : fields[19];
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}

function namespaceOf(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}
