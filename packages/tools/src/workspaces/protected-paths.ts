/** What inside a workspace stays read-only in a sandbox: whatever decides what runs or is believed later (G17). */

import { lstatSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { isProtectedPath } from "@capstan/core";
import { isInside } from "./paths.ts";

/** Bounds of the look into the workspace; deeper ones are left to permission. */
const MAX_DEPTH = 4;
const MAX_FOLDERS = 500;
/** Large, made by tools, and never a place for one's own settings. */
const SKIPPED = new Set(["node_modules", "target", "dist", "build", ".venv", "vendor"]);

/**
 * Protected files and folders that are there, nearest first; real paths inside the root. `writable` names some that may
 * be written all the same; of a writable `.git` what runs programs stays read-only.
 */
export function protectedPaths(root: string, writable: readonly string[] = []): readonly string[] {
  const found: string[] = [];
  const folders: { readonly path: string; readonly depth: number }[] = [{ path: root, depth: 0 }];
  for (let at = 0; at < folders.length && at < MAX_FOLDERS; at += 1) {
    const { path: folder, depth } = folders[at] ?? { path: root, depth: 0 };
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name);
      if (isProtectedPath(path, root)) {
        if (!writable.some((allowed) => isInside(allowed, path))) found.push(path);
        else if (entry.name === ".git") found.push(...["hooks", "config", "info"].map((name) => join(path, name)));
      } else if (entry.isDirectory() && depth < MAX_DEPTH && !SKIPPED.has(entry.name)) {
        folders.push({ path, depth: depth + 1 });
      }
    }
  }
  return [...new Set(found.flatMap((path) => mountable(path, root)))];
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // gone meanwhile, or not ours to read: then nothing inside can write there either
  }
}

/** A link is protected by what it leads to: nothing can be laid over the link itself. */
function mountable(path: string, root: string): readonly string[] {
  try {
    const info = lstatSync(path);
    if (!info.isSymbolicLink()) return info.isFile() || info.isDirectory() ? [path] : [];
    const real = realpathSync(path);
    return isInside(root, real) && real !== root ? [real] : [];
  } catch {
    return [];
  }
}
