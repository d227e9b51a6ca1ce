/** Changes the user's own settings file: one change at a time, the file private and replaced whole. */

import { open, realpath, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { CapstanError, sleep, systemClock } from "@capstan/core";
import { type Env, makePrivateFolder } from "../home-folders.ts";
import { readSettings, type Settings, settingsFile } from "./settings.ts";

const ATTEMPTS = 40;
const AGAIN_MS = 25;

/** What is there stays but for the change; a file that cannot be read is left as it is. Throws `config-invalid`. */
export async function changeSettings(change: (settings: Settings) => Settings, env: Env = process.env): Promise<void> {
  const named = settingsFile(env);
  const path = await realpath(named).catch(() => named); // a link stays a link
  await makePrivateFolder(dirname(path));
  const lock = `${path}.new`;
  const file = await openAlone(lock);
  try {
    try {
      const settings = change(await readSettings(env));
      await file.writeFile(`${JSON.stringify(settings, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(lock, path);
  } catch (error) {
    await unlink(lock).catch(() => undefined);
    throw error;
  }
}

/** The new file is also the lock: who makes it reads what is there, and puts it in place. */
async function openAlone(path: string): ReturnType<typeof open> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await open(path, "wx", 0o600);
    } catch (cause) {
      if (!(cause instanceof Error && "code" in cause && cause.code === "EEXIST")) throw cause;
      if (attempt < ATTEMPTS) await sleep(systemClock, AGAIN_MS);
      else
        throw new CapstanError("config-invalid", `${path} is in the way; remove it when no Capstan writes`, { cause });
    }
  }
}
