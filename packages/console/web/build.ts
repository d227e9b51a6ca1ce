/** Builds the files of the console with Vite: into `dist` for a release, into a cache beside the sources while they change. */

import { createHash } from "node:crypto";
import { globSync } from "node:fs";
import { mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { build } from "vite";

const here = import.meta.dirname;
const cache = join(here, "../../../node_modules/.cache/capstan-console");

export async function buildInto(folder: string): Promise<void> {
  await build({
    configFile: join(here, "vite.config.ts"),
    logLevel: "error",
    mode: "production",
    build: { outDir: folder, emptyOutDir: true },
  });
}

/** The folder of files built from the sources as they are now. Several processes may ask at once. */
export async function builtFromSource(): Promise<string> {
  const folder = join(cache, await sourceHash());
  if (await isThere(folder)) return folder;
  const draft = `${folder}-${process.pid}`;
  await mkdir(cache, { recursive: true });
  try {
    await buildInto(draft);
    await rename(draft, folder).catch(async (error: unknown) => {
      if (!(await isThere(folder))) throw error; // another process was first
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return folder;
}

async function sourceHash(): Promise<string> {
  const hash = createHash("sha256");
  for (const file of globSync("**/*.{ts,tsx,css,html,svg}", { cwd: here }).toSorted()) {
    if (!file.includes(".test.")) hash.update(file).update(await readFile(join(here, file)));
  }
  return hash.digest("hex").slice(0, 16);
}

async function isThere(folder: string): Promise<boolean> {
  return (await stat(join(folder, "index.html")).catch(() => undefined))?.isFile() === true;
}
