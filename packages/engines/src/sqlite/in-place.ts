/** Whether an open database still lies at its path: SQLite writes on into files that were deleted or moved, and nobody would find it. */

import { statSync, type Stats } from "node:fs";
import { damagedStore } from "./database.ts";

/** Called after a commit. Throws `store-damaged` when what was committed is not what the next process will open. */
type InPlace = () => void;

/** To be asked for when the database has just been opened. `maxWalBytes`: SQLite itself cuts its log to this. */
export function inPlace(path: string, maxWalBytes: number): InPlace {
  const walPath = `${path}-wal`;
  const opened = find(path);
  let wal: Stats | undefined;
  return () => {
    const [main, log] = [find(path), find(walPath)];
    if (!isSame(opened, main) || main?.size === 0) throw gone(path, path);
    if (log === undefined || (wal !== undefined && (!isSame(wal, log) || log.size < Math.min(wal.size, maxWalBytes))))
      throw gone(path, walPath);
    wal = log;
  };
}

function find(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

function isSame(one: Stats | undefined, other: Stats | undefined): boolean {
  return one?.ino === other?.ino && one?.dev === other?.dev;
}

function gone(path: string, file: string): Error {
  return damagedStore(path, `${file} was moved, deleted, replaced or cut while it was in use`);
}
