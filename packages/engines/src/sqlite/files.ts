/** The database as files: a private folder, a private file, and what their bytes say before SQLite may touch them. */

import * as fs from "node:fs";
import { dirname, resolve } from "node:path";
import { CapstanError } from "@capstan/core";
import { damagedStore, isOpenHere } from "./database.ts";
import { unwritable } from "./file-errors.ts";

/** What the first bytes say (`known`: a connection of this process was told), also those of a page 1 that still lies in the write-ahead log. */
export type Found = "nothing" | "known" | { readonly applicationId: number; readonly version: number };

const MAGIC = Buffer.from("SQLite format 3\0", "latin1");
const HEADER_BYTES = 100;
const VERSION_AT = 60;
const APPLICATION_AT = 68;
const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/**
 * Makes folder and file when they are not there, private to the user, and looks at the file without changing it.
 * Throws `store-readonly` when it cannot be written, `store-damaged` when it is not what it should be.
 */
export function prepareFiles(path: string, anchorPath: string): Found {
  try {
    makeFolder(dirname(path));
  } catch (cause) {
    throw unwritable(path, cause);
  }
  const size = sizeOf(path) ?? 0;
  if (size > 0) {
    const found = isOpenHere(path) ? "known" : readFound(path);
    requireWritable(path);
    return found;
  }
  for (const left of [`${path}-wal`, anchorPath]) {
    if ((sizeOf(left) ?? 0) > 0) throw damagedStore(path, `it is missing or empty, but ${left} is there`);
  }
  try {
    fs.closeSync(fs.openSync(path, "a", 0o600));
    syncFolder(dirname(path));
  } catch (cause) {
    throw unwritable(path, cause);
  }
  requireWritable(path);
  return "nothing";
}

/** Where SQLite looks, which follows links: its other files lie beside the file itself. */
export function realPath(path: string): string {
  try {
    return fs.realpathSync(path);
  } catch {
    return resolve(path); // not there yet, or for `prepareFiles` to refuse
  }
}

export function sizeOf(path: string): number | undefined {
  return fs.statSync(path, { throwIfNoEntry: false })?.size;
}

/** So that the names of new files survive a power loss. */
export function syncFolder(folder: string): void {
  if (process.platform === "win32") return; // folders cannot be opened there
  const handle = fs.openSync(folder, "r");
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}

function makeFolder(folder: string): void {
  const first = fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first !== undefined) syncFolder(dirname(first));
}

function requireWritable(path: string): void {
  try {
    fs.accessSync(path, fs.constants.R_OK | fs.constants.W_OK);
    fs.accessSync(dirname(path), fs.constants.W_OK | fs.constants.X_OK);
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

function readFound(path: string): Found {
  let file: number;
  try {
    file = fs.openSync(path, "r");
  } catch (cause) {
    throw unwritable(path, cause);
  }
  try {
    const header = readAt(file, 0, HEADER_BYTES);
    if (header === undefined || !header.subarray(0, MAGIC.length).equals(MAGIC)) {
      throw damagedStore(path, "it does not begin like an SQLite file");
    }
    return newerPageOne(path) ?? toFound(header);
  } catch (cause) {
    if (CapstanError.is(cause)) throw cause;
    throw unwritable(path, cause); // a folder, a device
  } finally {
    fs.closeSync(file);
  }
}

/** Page 1 as the log has it last; https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
function newerPageOne(path: string): Found | undefined {
  if ((sizeOf(`${path}-wal`) ?? 0) <= WAL_HEADER_BYTES) return undefined;
  const file = openIfThere(`${path}-wal`); // the last process to close the store removes it
  if (file === undefined) return undefined;
  try {
    const header = readAt(file, 0, WAL_HEADER_BYTES);
    const pageSize = header?.readUInt32BE(8) ?? 0;
    if (header === undefined || pageSize < 512 || pageSize > 65_536) return undefined;
    let found: Found | undefined;
    for (let at = WAL_HEADER_BYTES; ; at += FRAME_HEADER_BYTES + pageSize) {
      const frame = readAt(file, at, FRAME_HEADER_BYTES + HEADER_BYTES);
      if (frame === undefined || !frame.subarray(8, 16).equals(header.subarray(16, 24))) return found;
      if (frame.readUInt32BE(0) === 1) found = toFound(frame.subarray(FRAME_HEADER_BYTES));
    }
  } finally {
    fs.closeSync(file);
  }
}

function toFound(header: Buffer): Found {
  return { applicationId: header.readUInt32BE(APPLICATION_AT), version: header.readUInt32BE(VERSION_AT) };
}

function readAt(file: number, position: number, length: number): Buffer | undefined {
  const buffer = Buffer.alloc(length);
  return fs.readSync(file, buffer, 0, length, position) === length ? buffer : undefined;
}

function openIfThere(path: string): number | undefined {
  try {
    return fs.openSync(path, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
