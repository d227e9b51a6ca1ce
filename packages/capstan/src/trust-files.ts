/** What in a folder can execute or configure here, found and hashed: what a person trusts when he trusts the folder (G19). */

import { constants } from "node:fs";
import { lstat, open, readdir, readlink, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { CapstanError, sha256 } from "@capstan/core";

/** Names in the folder that count, files and whole folders. */
const NAMES = (
  ".capstan .claude .agents .mcp.json AGENTS.md AGENTS.override.md CLAUDE.md CLAUDE.local.md " +
  "capstan.config.ts capstan.config.mts capstan.config.js capstan.config.mjs capstan.config.json"
).split(" ");
/** Copies of the project that Claude Code keeps for itself. */
const SKIPPED = new Set([".claude/worktrees"]);
const MAX_FILES = 2_000;
const MAX_BYTES = 33_554_432;

/** SHA-256 of each file, by its name relative to the folder; a link's covers where it leads and what is there. */
export type TrustFiles = { readonly [name: string]: string };

/** Throws `file-too-large` when there is more than anybody could look at. */
export async function trustFiles(folder: string): Promise<TrustFiles> {
  const found: Found = { files: {}, bytes: 0 };
  for (const name of NAMES) await take(folder, name, found, { links: "", above: [] });
  return found.files;
}

/** The bytes of a regular file, opened without waiting for what is none. Undefined when there is nothing to read. */
export async function readRegular(path: string): Promise<Buffer | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const info = await file.stat();
    if (!info.isFile()) return undefined;
    if (info.size > MAX_BYTES) throw tooLarge(path);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Where the links on the way to a file lead, as its hash covers them. */
export async function linksOn(folder: string, name: string): Promise<string> {
  let links = "";
  const parts = name.split("/");
  for (let count = 1; count <= parts.length; count += 1)
    links += await linkText(folder, parts.slice(0, count).join("/"));
  return links;
}

/** The hash a file has under `trustFiles`: of its bytes, and of the links on the way to it. */
export function trustHash(links: string, bytes: Uint8Array | undefined): string {
  return sha256(`${links}\n${bytes === undefined ? "unreadable" : sha256(bytes)}`);
}

/** Empty for what is no link. */
async function linkText(folder: string, name: string): Promise<string> {
  return readlink(join(folder, name)).then(
    (target) => `${name} -> ${target}\n`,
    () => "",
  );
}

type Found = { readonly files: Record<string, string>; bytes: number };
/** Where links have led so far, and the real folders on the way: a link back into one of them ends. */
type Way = { readonly links: string; readonly above: readonly string[] };

async function take(folder: string, name: string, found: Found, { links, above }: Way): Promise<void> {
  if (SKIPPED.has(name)) return;
  const path = join(folder, name);
  const info = await lstat(path).catch(() => undefined);
  if (info === undefined) return;
  const led = links + (await linkText(folder, name));
  const target = info.isSymbolicLink() ? await stat(path).catch(() => undefined) : info;
  if (target?.isDirectory() === true) return takeFolder(folder, name, found, { links: led, above });
  const bytes = target?.isFile() === true ? await readRegular(path) : undefined;
  found.bytes += bytes?.length ?? 0;
  found.files[name] = trustHash(led, bytes);
  if (Object.keys(found.files).length > MAX_FILES || found.bytes > MAX_BYTES) throw tooLarge(folder);
}

async function takeFolder(folder: string, name: string, found: Found, { links, above }: Way): Promise<void> {
  const path = join(folder, name);
  const real = await realpath(path).catch(() => path);
  if (above.includes(real)) return;
  const entries = await readdir(path).catch((): string[] => []);
  for (const entry of entries.toSorted())
    await take(folder, `${name}/${entry}`, found, { links, above: [...above, real] });
}

function tooLarge(path: string): CapstanError {
  const message = `${path} holds more configuration than can be trusted: at most ${MAX_FILES} files and ${MAX_BYTES} bytes`;
  return new CapstanError("file-too-large", message);
}
