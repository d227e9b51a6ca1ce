/** The paths below a folder that `@` completes: the nearest first, bounded, without what nobody names. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@capstan/core";
import { TERMINAL_LIMITS } from "./limits.ts";

const LEFT_OUT: ReadonlySet<string> = new Set([
  ".git",
  "node_modules",
  ".hg",
  ".svn",
  "__pycache__",
  ".venv",
  "target",
]);
const FRESH_MS = 10_000;

/** Reads the folder anew when what is known is older than ten seconds. */
export function folderFiles(
  folder: string | undefined,
  clock: Clock,
): (signal: AbortSignal) => Promise<readonly string[]> {
  let known: { readonly at: number; readonly paths: Promise<readonly string[]> } | undefined;
  return async () => {
    if (folder === undefined) return [];
    const now = clock.monotonic();
    if (known === undefined || now - known.at > FRESH_MS) known = { at: now, paths: walk(folder) };
    return known.paths;
  };
}

async function walk(root: string): Promise<readonly string[]> {
  const paths: string[] = [];
  const folders = [""];
  for (const folder of folders) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
    for (const entry of entries.toSorted((a, b) => a.name.localeCompare(b.name))) {
      if (paths.length >= TERMINAL_LIMITS.files) return paths;
      if (LEFT_OUT.has(entry.name) || /[\s\p{Cc}]/u.test(entry.name)) continue;
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      paths.push(entry.isDirectory() ? `${path}/` : path);
      if (entry.isDirectory()) folders.push(path);
    }
  }
  return paths;
}
