/** What the file system refuses, as errors that the caller can act on. */

import * as fs from "node:fs";
import { dirname } from "node:path";
import { CapstanError, messageOf } from "@capstan/core";

/** The database, its log, the index of that, and the folder. */
const SQLITE_FILES = 4;

/** What cannot be put right by another place or other permissions. */
const PASSING: ReadonlySet<string | undefined> = new Set([
  "EMFILE",
  "ENFILE",
  "ENOMEM",
  "EIO",
  "EAGAIN",
  "EBUSY",
  "EINTR",
]);

/** What `node:fs` threw, as an error that the caller can act on. */
export function unwritable(path: string, cause: unknown): CapstanError {
  const code = (cause as NodeJS.ErrnoException).code; // node:fs throws nothing else
  if (PASSING.has(code)) {
    const why = code === "EMFILE" || code === "ENFILE" ? "too many files are open" : code;
    return new CapstanError("store-failed", `${path} could not be opened or written (${why}); try again`, {
      cause,
      retryable: true,
    });
  }
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new CapstanError("store-full", `There is no space left for ${path}; free some and try again`, {
      cause,
      retryable: true,
    });
  }
  const message = `${path} cannot be written (${code ?? messageOf(cause)}); choose another place or make it writable`;
  return new CapstanError("store-readonly", message, { cause });
}

/** Why nothing more can be opened, if so: SQLite says of every file only that it could not open it. */
export function lackOfFiles(path: string): CapstanError | undefined {
  const opened: number[] = [];
  try {
    while (opened.length < SQLITE_FILES) opened.push(fs.openSync(dirname(path), "r"));
    return undefined;
  } catch (cause) {
    return PASSING.has((cause as NodeJS.ErrnoException).code) ? unwritable(path, cause) : undefined;
  } finally {
    for (const file of opened) fs.closeSync(file);
  }
}

/** Whether `node:fs` threw this. */
export function isFileError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
