/**
 * Writes a file in one step: a temporary file in the checked folder, synced, renamed over the name. A rename replaces a
 * folder's entry and follows nothing, so whatever is swapped meanwhile, the bytes land in the folder that was checked.
 * A file with several names (hard links) loses the others: they keep the old bytes. Writes of this process to one file
 * wait for each other, so that `expected` holds until the name is replaced.
 */

import { constants, type BigIntStats } from "node:fs";
import { access, link, lstat, mkdir, open, rename, unlink, type FileHandle } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { CapstanError, sha256 } from "@capstan/core";
import type { WriteOptions } from "@capstan/core";
import { OneAtATime } from "../one-at-a-time.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { kindOf, openAbsolute, openNamed, sameObject, type Descriptors, type Opened } from "./open-inside.ts";
import {
  checkName,
  isInside,
  nameIn,
  outside,
  quote,
  resolveIn,
  special,
  systemCode,
  toPathError,
  type Root,
} from "./paths.ts";
import { removeAbandoned, temporaryName } from "./temporary-files.ts";

const writes = new OneAtATime();
/** Links that lead to links, or names that keep moving: after this many the write is refused. */
const MAX_TRIES = 4;

export type Replaced = { readonly path: string; readonly info: BigIntStats };

/** Writes `bytes`; returns the real absolute path and what stands there. Creates missing folders. Throws as `Workspace.write`. */
export async function replaceFile(
  descriptors: Descriptors,
  root: Root,
  path: string,
  bytes: Uint8Array,
  options: WriteOptions = {},
): Promise<Replaced> {
  checkName(path);
  if (/[/\\]$/.test(path) && (path.endsWith("/") || sep === "\\")) throw special(path, "the name of a folder");
  const asked = resolveIn(root, path);
  let target = isInside(root.path, asked) ? asked : await realTarget(openNamed(descriptors, root, asked, path), path);
  if (target === root.path) throw special(path, "the workspace folder");
  for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
    options.signal?.throwIfAborted();
    if (options.exact === true && target !== asked) throw alias(root, path, target);
    const folder = await openParent(descriptors, root, target, path, options.exact === true);
    try {
      const place = { folder, name: basename(target), shown: path, root };
      const present = await entryOf(place);
      if (present !== undefined && present.isSymbolicLink()) {
        target = await realTarget(openAbsolute(descriptors, root, folder.at(place.name), path), path);
        continue;
      }
      if (present !== undefined && !present.isFile()) throw special(path, kindOf(present));
      const written = join(folder.path, place.name);
      const info = await writes.run(written, () => replaceIn(descriptors, place, bytes, options));
      return { path: written, info };
    } catch (error) {
      throw toPathError(error, path);
    } finally {
      await folder.handle.close();
    }
  }
  throw new CapstanError("file-changed", `${quote(path)} kept changing while it was written. Nothing was written`);
}

type Place = { readonly folder: Opened; readonly name: string; readonly shown: string; readonly root: Root };

/** Real path of what a link leads to: an existing regular file inside the root. */
async function realTarget(opening: Promise<Opened>, shown: string): Promise<string> {
  const opened = await opening;
  await opened.handle.close();
  if (!opened.info.isFile()) throw special(shown, kindOf(opened.info));
  return opened.path;
}

/** Opens the folder of `target`, one name after the other from the root, each checked; missing ones are made. */
async function openParent(
  descriptors: Descriptors,
  root: Root,
  target: string,
  shown: string,
  exact: boolean,
): Promise<Opened> {
  let folder = await openAbsolute(descriptors, root, root.path, shown);
  const parent = relative(root.path, dirname(target));
  for (const name of parent === "" ? [] : parent.split(sep)) {
    const expected = join(folder.path, name);
    const outer = folder;
    try {
      folder = await enter(descriptors, root, outer, name, shown);
    } finally {
      await outer.handle.close();
    }
    if (exact && folder.path !== expected) {
      await folder.handle.close();
      throw alias(root, shown, join(folder.path, relative(expected, target)));
    }
  }
  return folder;
}

async function enter(
  descriptors: Descriptors,
  root: Root,
  folder: Opened,
  name: string,
  shown: string,
): Promise<Opened> {
  const path = folder.at(name);
  let refused: unknown;
  try {
    await mkdir(path);
  } catch (error) {
    const code = systemCode(error);
    // EROFS and EACCES come before EEXIST on some systems: whether the folder can be entered is seen when it is opened.
    if (code === "EROFS" || code === "EACCES") refused = toPathError(error, shown);
    else if (code !== "EEXIST") throw toPathError(error, shown);
  }
  const next = await openAbsolute(descriptors, root, path, shown).catch((error: unknown) => {
    throw refused !== undefined && CapstanError.is(error, "path-not-found") ? refused : error;
  });
  if (next.info.isDirectory()) return next;
  await next.handle.close();
  throw new CapstanError("path-not-found", `${quote(shown)} leads through a file as if it were a folder`);
}

async function entryOf({ folder, name }: Place) {
  try {
    return await lstat(folder.at(name), { bigint: true });
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function replaceIn(
  descriptors: Descriptors,
  place: Place,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<BigIntStats> {
  const { folder, name, shown, root } = place;
  await removeAbandoned(folder);
  const current = await openCurrent(descriptors, place);
  const temporary = folder.at(temporaryName());
  let made = false;
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(temporary, flags, current === undefined ? 0o666 : 0o600); // never wider than the file was
    made = true;
    const info = await fill(file, bytes, current, options);
    await checkExpected(current, options.expected, shown);
    await checkStill(descriptors, place, current);
    options.signal?.throwIfAborted();
    const linked = options.expected === null && (await linkNew(temporary, folder.at(name), shown));
    if (!linked) {
      await rename(temporary, folder.at(name));
      made = false;
    }
    await syncFolder(folder);
    if (!isInside(root.path, await descriptors.whereIs(folder.handle, folder.path))) throw outside(shown);
    return info;
  } finally {
    await current?.handle.close();
    if (made) await unlink(temporary);
  }
}

async function fill(
  file: FileHandle,
  bytes: Uint8Array,
  current: Opened | undefined,
  { signal }: WriteOptions,
): Promise<BigIntStats> {
  try {
    await file.writeFile(bytes, signal === undefined ? {} : { signal });
    if (current !== undefined) await copyOwnership(file, current);
    await file.sync();
    return await file.stat({ bigint: true });
  } finally {
    await file.close();
  }
}

/** The file that stands there now, if any; a link that appeared since the look at the entry is no regular file. */
async function openCurrent(
  descriptors: Descriptors,
  { folder, name, shown, root }: Place,
): Promise<Opened | undefined> {
  let opened: Opened;
  try {
    opened = await openAbsolute(descriptors, root, folder.at(name), shown);
  } catch (error) {
    if (CapstanError.is(error, "path-not-found")) return undefined;
    throw error;
  }
  try {
    if (!opened.info.isFile()) throw special(shown, kindOf(opened.info));
    await access(opened.at(), constants.W_OK); // a rename would replace a read-only file too
    return opened;
  } catch (error) {
    await opened.handle.close();
    throw error;
  }
}

/** Mode and, where the system allows it, owner of the file that is replaced. */
async function copyOwnership(file: FileHandle, { info }: Opened): Promise<void> {
  const mine = await file.stat({ bigint: true });
  if (mine.uid !== info.uid || mine.gid !== info.gid) {
    try {
      await file.chown(Number(info.uid), Number(info.gid));
    } catch (error) {
      if (systemCode(error) !== "EPERM") throw error;
    }
  }
  await file.chmod(Number(info.mode) & 0o777);
}

async function checkExpected(
  current: Opened | undefined,
  expected: string | null | undefined,
  shown: string,
): Promise<void> {
  if (expected === undefined) return;
  if (expected === null) {
    if (current === undefined) return;
    throw new CapstanError("file-changed", `${quote(shown)} exists already. Read it before you replace it`);
  }
  if (current !== undefined && current.info.size <= BigInt(TOOL_LIMITS.workspaceReadBytes)) {
    const file = await open(current.at(), constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (sha256(await file.readFile()) === expected) return;
    } finally {
      await file.close();
    }
  }
  throw new CapstanError("file-changed", `${quote(shown)} has changed since it was read. Read it again`);
}

/** Right before the rename: the folder is still inside, and its entry is still what was looked at, unchanged. */
async function checkStill(descriptors: Descriptors, place: Place, current: Opened | undefined): Promise<void> {
  const { folder, shown, root } = place;
  if (!isInside(root.path, await descriptors.whereIs(folder.handle, folder.path))) throw outside(shown);
  const entry = await entryOf(place);
  const same = entry === undefined ? current === undefined : current !== undefined && isUnchanged(entry, current.info);
  if (!same)
    throw new CapstanError("file-changed", `${quote(shown)} was changed while it was written. Nothing was written`);
}

function isUnchanged(now: BigIntStats, then: BigIntStats): boolean {
  return sameObject(now, then) && now.size === then.size && now.ctimeNs === then.ctimeNs;
}

/** Gives a new file its name without ever replacing one. False where the file system knows no hard links. */
async function linkNew(temporary: string, path: string, shown: string): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    if (systemCode(error) === "EEXIST") {
      throw new CapstanError("file-changed", `${quote(shown)} exists already. Read it before you replace it`);
    }
    return false;
  }
}

async function syncFolder(folder: Opened): Promise<void> {
  const readable = await open(folder.at(), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await readable.sync();
  } finally {
    await readable.close();
  }
}

function alias(root: Root, path: string, target: string): CapstanError {
  return new CapstanError(
    "path-invalid",
    `${quote(path)} is another name of ${quote(nameIn(root, target))}. Use that path, so that permission is decided on it`,
  );
}
