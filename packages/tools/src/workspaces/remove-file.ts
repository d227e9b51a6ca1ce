/** Removes a file: the name in the folder that was checked, and only while it holds what the caller has seen. */

import { constants, type BigIntStats } from "node:fs";
import { lstat, open, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { CapstanError, sha256 } from "@capstan/core";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { openAbsolute, openInside, sameObject, type Descriptors, type Opened } from "./open-inside.ts";
import { isInside, outside, quote, special, toPathError, type Root } from "./paths.ts";

export type RemoveOptions = {
  /** SHA-256 of what the file must hold. */
  readonly expected: string;
  readonly signal?: AbortSignal;
};

/**
 * The name must be the real path: a link is not followed, and not removed. Other names of the file (hard links) stay, and
 * so does an empty folder. Throws as `Workspace.write` with `exact`.
 */
export async function removeFile(
  descriptors: Descriptors,
  root: Root,
  path: string,
  { expected, signal }: RemoveOptions,
): Promise<void> {
  signal?.throwIfAborted();
  const file = await openInside(descriptors, root, path, { exact: true });
  try {
    if (!file.info.isFile()) throw special(path, "a folder");
    if (!(await holds(file, expected))) throw changed(path);
    const folder = await openAbsolute(descriptors, root, dirname(file.path), path);
    try {
      await removeFrom(descriptors, root, { folder, file, shown: path });
    } finally {
      await folder.handle.close();
    }
  } catch (error) {
    throw toPathError(error, path);
  } finally {
    await file.handle.close();
  }
}

type Place = { readonly folder: Opened; readonly file: Opened; readonly shown: string };

async function removeFrom(descriptors: Descriptors, root: Root, { folder, file, shown }: Place): Promise<void> {
  if (folder.path !== dirname(file.path)) throw changed(shown);
  const entry = folder.at(basename(file.path));
  if (!isUnchanged(await lstat(entry, { bigint: true }), file.info)) throw changed(shown);
  if (!isInside(root.path, await descriptors.whereIs(folder.handle, folder.path))) throw outside(shown);
  await unlink(entry);
  const synced = await open(folder.at(), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await synced.sync();
  } finally {
    await synced.close();
  }
}

async function holds(file: Opened, expected: string): Promise<boolean> {
  if (file.info.size > BigInt(TOOL_LIMITS.workspaceReadBytes)) return false;
  const opened = await open(file.at(), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    if (!sameObject(await opened.stat({ bigint: true }), file.info)) return false; // swapped, where names are all there is
    return sha256(await opened.readFile()) === expected;
  } finally {
    await opened.close();
  }
}

function isUnchanged(now: BigIntStats, then: BigIntStats): boolean {
  return sameObject(now, then) && now.size === then.size && now.ctimeNs === then.ctimeNs;
}

function changed(path: string): CapstanError {
  return new CapstanError("file-changed", `${quote(path)} has changed since it was read. Nothing was removed`);
}
