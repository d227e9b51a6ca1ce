/** Decisions on trust as files of the user's data folder: one for each folder, private, replaced whole. */

import { constants } from "node:fs";
import { mkdir, open, readdir, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { sha256, systemClock, systemIds } from "@capstan/core";
import { z } from "zod";
import { makePrivateFolder } from "./home-folders.ts";
import type { TrustFiles } from "./trust-files.ts";

const ids = systemIds(() => systemClock.now());

/** One decision, as it is stored: the hashes of the files it was made on, by their names. */
export type Decision = {
  readonly version: 1;
  readonly folder: string;
  readonly files: Readonly<Record<string, string>>;
  readonly at: number;
};
const schema: z.ZodType<Decision> = z.object({
  version: z.literal(1),
  folder: z.string(),
  files: z.record(z.string(), z.string()),
  at: z.number(),
});

/** Undefined when there is none that can be believed: damaged, of another folder, or writable by others. */
export async function readDecision(dataFolder: string, folder: string): Promise<Decision | undefined> {
  const decision = await readFileOf(pathOf(dataFolder, folder));
  return decision?.folder === folder ? decision : undefined;
}

export async function writeDecision(dataFolder: string, folder: string, files: TrustFiles): Promise<void> {
  await makePrivateFolder(dataFolder);
  await mkdir(join(dataFolder, "trust"), { recursive: true, mode: 0o700 });
  const path = pathOf(dataFolder, folder);
  const temporary = `${path}.${ids.random()}.tmp`;
  const decision: Decision = { version: 1, folder, files: { ...files }, at: systemClock.now() };
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(JSON.stringify(decision));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

export async function forgetDecision(dataFolder: string, folder: string): Promise<boolean> {
  try {
    await unlink(pathOf(dataFolder, folder));
    return true;
  } catch {
    return false;
  }
}

export async function readDecisions(dataFolder: string): Promise<readonly string[]> {
  const names = await readdir(join(dataFolder, "trust")).catch((): string[] => []);
  const decisions = await Promise.all(
    names.filter((name) => name.endsWith(".json")).map((name) => readFileOf(join(dataFolder, "trust", name))),
  );
  const folders = decisions.flatMap((decision) => (decision === undefined ? [] : [decision.folder]));
  return folders.filter((folder) => names.includes(nameOf(folder))).toSorted();
}

function pathOf(dataFolder: string, folder: string): string {
  return join(dataFolder, "trust", nameOf(folder));
}

function nameOf(folder: string): string {
  return `${sha256(folder)}.json`;
}

async function readFileOf(path: string): Promise<Decision | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  );
  if (file === undefined) return undefined;
  try {
    const info = await file.stat();
    const mine = process.getuid === undefined || (info.uid === process.getuid() && (info.mode & 0o022) === 0);
    if (!info.isFile() || !mine) return undefined;
    return schema.safeParse(JSON.parse(await file.readFile("utf8"))).data;
  } catch {
    return undefined; // damaged: as if nothing had been decided
  } finally {
    await file.close();
  }
}
