/** `openRuntime` with everything this machine has: the local engine, models by name, folders as workspaces. */

import { join } from "node:path";
import { type Engine, type Model, openRuntime as openCoreRuntime, systemClock } from "@capstan/core";
import type { Runtime, RuntimeOptions as CoreRuntimeOptions, WorkspaceFactory } from "@capstan/core";
import { type Env, homeFolders, makePrivateFolder } from "./home-folders.ts";

export type RuntimeOptions = Omit<CoreRuntimeOptions, "engine"> & {
  /** Default: one SQLite file, `capstan.db` in the data folder. Closed with the runtime. */
  readonly engine?: Engine;
  /** Default `$CAPSTAN_HOME`, else the XDG data folder. Not used when an engine is given. */
  readonly dataFolder?: string;
};

/** Opens a runtime. Providers, engines and tools are loaded when they are first needed. */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { dataFolder, engine: given, workspaces, secrets = [], host, ...rest } = options;
  // providers load while the store opens; what is wrong with one is said when it is resolved for its agent
  if (host?.resolveModel === undefined)
    for (const { model } of options.agents) if (typeof model === "string") resolveModel(model).catch(() => undefined);
  const engine = given ?? (await openLocalEngine(dataFolder));
  try {
    return await openCoreRuntime({
      ...rest,
      engine,
      workspaces: { local: localFolders, ...workspaces },
      secrets: [...providerSecrets(process.env), ...secrets],
      host: { resolveModel, ...host },
    });
  } catch (error) {
    if (given === undefined) await engine.close();
    throw error;
  }
}

/** The engine of the data folder, which is made when it is not there. The caller closes it. */
export async function openLocalEngine(dataFolder: string = homeFolders(process.env).data): Promise<Engine> {
  await makePrivateFolder(dataFolder);
  const { localEngine } = await import("@capstan/engines/local");
  return localEngine({ path: databasePath(dataFolder) });
}

export function databasePath(dataFolder: string = homeFolders(process.env).data): string {
  return join(dataFolder, "capstan.db");
}

/** A model by `"provider/name"`, as `openRuntime` resolves it. Throws `model-unknown` or `model-key-missing`. */
export async function resolveModel(name: string): Promise<Model> {
  const models = await import("@capstan/models");
  return models.resolveModel(name);
}

const SECRET_NAME = /_(?:API_KEY|AUTH_TOKEN)$/;

/** Keys of providers in the environment: they never enter the record. */
export function providerSecrets(env: Env): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => (SECRET_NAME.test(name) && value ? [value] : []));
}

/** Folders of this machine. What a killed Capstan left running is ended before one opens. */
const localFolders: WorkspaceFactory = async (root) => {
  const { endLeftovers, localWorkspace } = await import("@capstan/tools/workspaces/local");
  await endLeftovers(systemClock);
  return localWorkspace(root);
};
