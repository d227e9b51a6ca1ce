/** A folder of definitions written by people (skills, commands, rules): what lies in it, read without ever leaving it. */

import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, sep } from "node:path";
import { CapstanError } from "@capstan/core";

export interface DefinitionFolder {
  /** Absolute; shown to people, and where programs of it are started from. */
  readonly path: string;
  /** Names of the files below it with `/` as separator, sorted by code unit. Empty when there is no such folder. */
  list(): Promise<readonly string[]>;
  /**
   * Undefined for what is no file of this folder, or may not be read now: a link that leads out, a special file, a file
   * that changed since it was trusted. Throws `file-too-large`.
   */
  read(name: string, maxBytes: number): Promise<Uint8Array | undefined>;
}

/** Files that one folder may hold; what comes after them in the order of names is not seen. */
export const MAX_DEFINITION_FILES = 2_000;
const MAX_DEPTH = 8;
/** Never definitions, and often large. */
const SKIPPED = new Set([".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"]);

export type DiskFolderOptions = {
  /** Links directly in the folder may lead elsewhere, as people link what they keep in one place: for their own folders only. */
  readonly links?: "follow";
};

/** A folder on this machine's disk. The path may be a link itself; what lies below it may not lead out of it. */
export function diskFolder(path: string, { links }: DiskFolderOptions = {}): DefinitionFolder {
  if (!isAbsolute(path))
    throw new CapstanError(
      "path-invalid",
      `A folder of definitions is named by an absolute path, not ${JSON.stringify(path)}`,
    );
  return {
    path,
    async list() {
      const names: string[] = [];
      await collect(path, "", { depth: 0, follows: links === "follow" }, names);
      return names.toSorted();
    },
    async read(name, maxBytes) {
      const linked =
        links === "follow" ? await realpath(join(path, name.split("/", 1)[0] ?? "")).catch(() => undefined) : undefined;
      return readBelow(path, name, { maxBytes, linked });
    },
  };
}

/** The files below one folder of another, by their names in it. */
export function subFolder(folder: DefinitionFolder, prefix: string): DefinitionFolder {
  return {
    path: join(folder.path, prefix),
    list: async () =>
      (await folder.list()).flatMap((name) => (name.startsWith(`${prefix}/`) ? [name.slice(prefix.length + 1)] : [])),
    read: async (name, maxBytes) => (isPlainName(name) ? folder.read(`${prefix}/${name}`, maxBytes) : undefined),
  };
}

/** Whether a name stays below the folder that it is relative to, whatever lies there. */
export function isPlainName(name: string): boolean {
  return (
    name !== "" &&
    !isAbsolute(name) &&
    !/[\\\p{Cc}]/u.test(name) &&
    name.split("/").every((part) => part !== "" && part !== "." && part !== "..")
  );
}

/** The text of a file; undefined as `read`, and for bytes that are no UTF-8 text. */
export async function readText(folder: DefinitionFolder, name: string, maxBytes: number): Promise<string | undefined> {
  const bytes = await folder.read(name, maxBytes);
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replaceAll("\r\n", "\n");
  } catch {
    return undefined;
  }
}

type Way = { readonly depth: number; readonly follows: boolean };

async function collect(root: string, below: string, { depth, follows }: Way, names: string[]): Promise<void> {
  if (depth > MAX_DEPTH) return;
  const entries = await readdir(join(root, below), { withFileTypes: true }).catch(() => []);
  for (const entry of entries.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
    if (names.length >= MAX_DEFINITION_FILES) return;
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    const linked =
      follows &&
      entry.isSymbolicLink() &&
      (await stat(join(root, name)).catch(() => undefined))?.isDirectory() === true;
    const isFolder = entry.isDirectory() || linked;
    if (isFolder && !SKIPPED.has(entry.name)) await collect(root, name, { depth: depth + 1, follows: false }, names);
    else if (entry.isFile() || entry.isSymbolicLink()) names.push(name);
  }
}

type Reading = { readonly maxBytes: number; readonly linked: string | undefined };

/** Opens first, then looks at what was opened: a name may lead elsewhere at any moment. */
async function readBelow(root: string, name: string, { maxBytes, linked }: Reading): Promise<Uint8Array | undefined> {
  if (!isPlainName(name)) return undefined;
  const realRoot = await realpath(root).catch(() => undefined);
  const real = await realpath(join(root, name)).catch(() => undefined);
  const roots = [realRoot, linked].filter((one) => one !== undefined);
  if (real === undefined || !isInside(roots, real)) return undefined;
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;
  const file = await open(real, flags).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const info = await file.stat();
    if (!info.isFile() || !(await isStill(file, real, roots))) return undefined;
    const bytes = Buffer.alloc(Math.min(info.size, maxBytes) + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length);
      length += bytesRead;
      if (bytesRead === 0 || length === bytes.length) break;
    }
    if (length > maxBytes)
      throw new CapstanError("file-too-large", `${join(root, name)} has more than ${maxBytes} bytes`);
    return bytes.subarray(0, length);
  } finally {
    await file.close();
  }
}

/** What is open lies inside the folder: by its own path where the system tells it, else as the name leads now. */
async function isStill(file: FileHandle, real: string, roots: readonly string[]): Promise<boolean> {
  const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined);
  if (opened !== undefined) return isInside(roots, opened);
  const [now, info] = await Promise.all([lstat(real).catch(() => undefined), file.stat()]);
  const folder = await realpath(dirname(real)).catch(() => "");
  return now?.ino === info.ino && now.dev === info.dev && isInside(roots, join(folder, basename(real)));
}

/** A linked file is a root by itself. */
function isInside(roots: readonly string[], path: string): boolean {
  return roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep));
}
