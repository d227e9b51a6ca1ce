/** Writes the rules of "always" answers for an agent, or for all of them, into the user's own settings. */

import { open, realpath, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { CapstanError, type RuntimeOptions, sleep, systemClock } from "@capstan/core";
import { type Env, makePrivateFolder } from "../home-folders.ts";
import { readSettings, type Settings, settingsFile } from "./settings.ts";

type Remember = NonNullable<RuntimeOptions["remember"]>;

const ATTEMPTS = 40;
const AGAIN_MS = 25;

/** The file is private and replaced whole. What is there stays; one that cannot be read is left as it is. */
export function keepRule(env: Env = process.env): Remember {
  return async (rule, { scope, agent }) => {
    const named = settingsFile(env);
    const path = await realpath(named).catch(() => named); // a link stays a link
    await makePrivateFolder(dirname(path));
    const lock = `${path}.new`;
    const file = await openAlone(lock);
    try {
      try {
        const settings = withRule(await readSettings(env), rule, scope === "agent" ? agent : undefined);
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
  };
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

/** Without an agent: for all of them. */
function withRule(settings: Settings, rule: string, agent: string | undefined): Settings {
  const { all = [], agents = {} } = settings.always ?? {};
  const added = (rules: readonly string[]): readonly string[] => (rules.includes(rule) ? rules : [...rules, rule]);
  const own = agent === undefined || !Object.hasOwn(agents, agent) ? [] : (agents[agent] ?? []);
  return {
    ...settings,
    always: {
      ...settings.always,
      ...(agent === undefined ? { all: added(all) } : { agents: { ...agents, [agent]: added(own) } }),
    },
  };
}
