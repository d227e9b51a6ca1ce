/**
 * Protected names that are not there yet: an empty, read-only placeholder keeps a program in a sandbox from making
 * them. Placeholders stand in the real folder while a sandbox runs; whoever ends last takes them away, and what a killed
 * process left is taken away by the next one. A record outside of the workspace says whose they are.
 */

import { lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { CapstanError, sha256 } from "@capstan/core";
import { isOrphanTag, newTag } from "./run-tag.ts";

export const PLACEHOLDER_FOLDERS: readonly string[] = [".git", ".capstan", ".claude"];
export const PLACEHOLDER_FILES: readonly string[] = (
  ".mcp.json .gitconfig .envrc .npmrc .bashrc .bash_profile .bash_login .bash_logout .profile .inputrc " +
  ".zshrc .zshenv .zprofile .zlogin .zlogout"
).split(" ");

export type MountPoints = {
  /** May be called twice. */
  release(): void;
};

type Made = { readonly path: string; readonly inode: string };
/** Of this process: one record for each root in use. */
type Held = { users: number; readonly file: string; made: readonly Made[] };

const held = new Map<string, Held>();

/** Puts the missing placeholders of a root there. Throws `sandbox-unavailable` when that cannot be done. */
export function holdMountPoints(root: string): MountPoints {
  const record = recordOf(root);
  const mine = held.get(root) ?? { users: 0, file: join(record, newTag()), made: [] };
  held.set(root, mine);
  mine.users += 1;
  try {
    writeRecord(mine, root); // before anything is made, so that whoever ends meanwhile sees this one
    mine.made = [...mine.made, ...makeMissing(root)];
    writeRecord(mine, root);
  } catch (cause) {
    leave(root, mine, record);
    throw new CapstanError("sandbox-unavailable", `Protected names cannot be held in ${root}: it cannot be written`, {
      cause,
    });
  }
  let released = false;
  return {
    release() {
      if (!released) leave(root, mine, record);
      released = true;
    },
  };
}

/** Takes away what killed processes left, in every root. */
export function sweepMountPoints(): void {
  for (const name of namesIn(recordsFolder())) {
    const record = join(recordsFolder(), name);
    if (!hasOwner(record)) takeAway(record);
  }
}

function leave(root: string, mine: Held, record: string): void {
  mine.users -= 1;
  if (mine.users > 0) return;
  held.delete(root);
  try {
    writeFileSync(mine.file, JSON.stringify({ released: true, made: mine.made }), { mode: 0o600 });
    if (!hasOwner(record)) takeAway(record);
  } catch {
    // what is left is found by the next start
  }
}

function makeMissing(root: string): readonly Made[] {
  const made: Made[] = [];
  const make = (name: string, create: (path: string) => void): void => {
    const path = join(root, name);
    try {
      create(path);
      made.push({ path, inode: inodeOf(path) ?? "" });
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error) || error.code !== "EEXIST") throw error;
    }
  };
  for (const name of PLACEHOLDER_FOLDERS) make(name, (path) => mkdirSync(path, { mode: 0o755 }));
  for (const name of PLACEHOLDER_FILES) make(name, (path) => writeFileSync(path, "", { flag: "wx", mode: 0o644 }));
  return made;
}

/** Removes placeholders that are still as they were made: the same, and empty. */
function takeAway(record: string): void {
  for (const name of namesIn(record)) {
    for (const { path, inode } of recordIn(join(record, name))?.made ?? []) {
      try {
        if (inodeOf(path) !== inode) continue;
        const info = lstatSync(path);
        if (info.isDirectory()) rmdirSync(path);
        else if (info.size === 0) unlinkSync(path);
      } catch {
        // filled meanwhile, or gone
      }
    }
  }
  rmSync(record, { recursive: true, force: true });
}

/** Whether a living process uses what this record is about. */
function hasOwner(record: string): boolean {
  return namesIn(record).some((name) => recordIn(join(record, name))?.released !== true && !isOrphanTag(name));
}

function writeRecord({ file, made }: Held, root: string): void {
  writeFileSync(file, JSON.stringify({ root, made }), { mode: 0o600 });
}

function recordIn(file: string): { readonly released?: boolean; readonly made: readonly Made[] } | undefined {
  try {
    const { released, made } = JSON.parse(readFileSync(file, "utf8")) as { released?: boolean; made?: readonly Made[] };
    const checked = Array.isArray(made) ? made.filter(({ path, inode }) => isOwnName(path) && inode !== "") : [];
    return { made: checked, ...(released === true && { released }) };
  } catch {
    return undefined;
  }
}

function isOwnName(path: string): boolean {
  return [...PLACEHOLDER_FOLDERS, ...PLACEHOLDER_FILES].some((name) => path.endsWith(`/${name}`));
}

function recordOf(root: string): string {
  const folder = join(recordsFolder(), sha256(root).slice(0, 32));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const info = lstatSync(recordsFolder());
  if (info.isDirectory() && (process.getuid === undefined || info.uid === process.getuid())) return folder;
  throw new CapstanError("sandbox-unavailable", `${recordsFolder()} belongs to somebody else; remove it`);
}

function recordsFolder(): string {
  return join(tmpdir(), `capstan-sandbox-${userInfo().uid}`);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function inodeOf(path: string): string | undefined {
  try {
    const { dev, ino } = lstatSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
