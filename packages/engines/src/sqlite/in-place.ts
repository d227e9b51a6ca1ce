/** Whether an open database still lies whole at its path: SQLite writes on into files that were deleted, moved or cut, and nobody would find it. */

import * as fs from "node:fs";
import { damagedStore } from "./database.ts";

/** Both throw `store-damaged`. */
export type InPlace = {
  /** Before a write: SQLite would fill what was cut from its log with nothing, and take that for pages. */
  before(): void;
  /** After a commit: what was committed is what the next process will open. */
  after(): void;
};

/** The header of the log's index, twice, and what is known of its checkpoints; https://www.sqlite.org/walformat.html */
const INDEX_HEADER_BYTES = 136;

/** To be asked for when the database has just been opened. `maxWalBytes`: SQLite itself cuts its log to this. */
export function inPlace(path: string, maxWalBytes: number): InPlace {
  const walPath = `${path}-wal`;
  const opened = find(path);
  let wal: fs.Stats | undefined;
  const look = (): fs.Stats | undefined => {
    const log = find(walPath);
    if (wal === undefined || (log !== undefined && isSame(wal, log) && log.size >= Math.min(wal.size, maxWalBytes)))
      return log;
    if (log !== undefined && isSame(wal, log)) forgetIndex(path);
    throw gone(path, walPath);
  };
  return {
    before: () => void look(),
    after() {
      const main = find(path);
      if (!isSame(opened, main) || main?.size === 0) throw gone(path, path);
      const log = look();
      if (log === undefined) throw gone(path, walPath);
      wal = log;
    },
  };
}

function find(path: string): fs.Stats | undefined {
  return fs.statSync(path, { throwIfNoEntry: false });
}

function isSame(one: fs.Stats | undefined, other: fs.Stats | undefined): boolean {
  return one?.ino === other?.ino && one?.dev === other?.dev;
}

/**
 * What is left of a log that was cut is read anew, by this process and by others: with the index of what it was, SQLite
 * would copy the missing pages into the database as empty ones.
 */
function forgetIndex(path: string): void {
  try {
    const file = fs.openSync(`${path}-shm`, "r+");
    try {
      fs.writeSync(file, new Uint8Array(INDEX_HEADER_BYTES), 0, INDEX_HEADER_BYTES, 0);
    } finally {
      fs.closeSync(file);
    }
  } catch {
    // the damage is told either way
  }
}

function gone(path: string, file: string): Error {
  return damagedStore(path, `${file} was moved, deleted, replaced or cut while it was in use`);
}
