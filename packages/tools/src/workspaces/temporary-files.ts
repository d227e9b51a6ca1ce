/** The files that writes are prepared in: named by their process, so that those of one that was killed can be removed. */

import { readdir, unlink } from "node:fs/promises";
import type { Opened } from "./open-inside.ts";
import { systemCode } from "./paths.ts";
import { isOrphanTag, newTag } from "./run-tag.ts";

/** For ripgrep: what nobody is to find. */
export const TEMPORARY_GLOB = ".capstan-*.tmp";
const TEMPORARY = /^\.capstan-(.+)\.tmp$/;
/** Folders that were looked through; forgotten all at once when there are too many. */
const looked = new Set<string>();
const MAX_LOOKED = 10_000;

export function temporaryName(): string {
  return `.capstan-${newTag()}.tmp`;
}

/** Removes what writes of processes that are gone left in the folder. Looks once for as long as this process lives. */
export async function removeAbandoned(folder: Opened): Promise<void> {
  const name = `${folder.info.dev}:${folder.info.ino}`;
  if (looked.has(name)) return;
  if (looked.size === MAX_LOOKED) looked.clear();
  looked.add(name);
  try {
    for (const entry of await readdir(folder.at())) {
      const tag = TEMPORARY.exec(entry)?.[1];
      if (tag !== undefined && isOrphanTag(tag)) await unlink(folder.at(entry));
    }
  } catch (error) {
    if (systemCode(error) === undefined) throw error; // what may not be listed or removed stays: the write goes on
  }
}
