/** The runtime behind a door of the command: its agents with the user's settings, and every session of the store. */

import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type Agent, CapstanError, type Runtime } from "@capstan/core";
import type { Config } from "../config.ts";
import { openRuntime } from "../open-runtime.ts";
import { reachedFrom, withInner } from "./agents.ts";
import { loadConfig } from "./config-file.ts";
import { keepRule } from "./keep-rule.ts";
import { openEngine, permissionOf } from "./open-agent.ts";
import { type Confinement, sandboxOf, withSandbox } from "./sandbox-setting.ts";
import { type AgentSetUp, setUpAgent } from "./set-up-agent.ts";
import { readSettings } from "./settings.ts";

export type DoorFlags = {
  readonly agent?: string;
  readonly model?: string;
  readonly config?: string;
  readonly cwd?: string;
  readonly sandbox?: Confinement;
};
export type DoorRuntime = {
  readonly runtime: Runtime;
  /** Of conversations for which none is named: the one that was chosen, else the first. */
  readonly agent: string;
  readonly agents: readonly string[];
  readonly folder: string;
  /** Bytes that logs name by hash. */
  readonly blob: (hash: string) => Promise<Uint8Array>;
  /** Lines for the operator. */
  readonly notes: readonly string[];
};

/** Throws as the other commands do; nothing stays open then. */
export async function openDoorRuntime(given: Config | undefined, flags: DoorFlags): Promise<DoorRuntime> {
  const config = flags.config === undefined ? given : await loadConfig(flags.config);
  const read = withSandbox(await readSettings(), flags.sandbox);
  const folder = await existingFolder(flags.cwd ?? ".");
  const name = flags.agent ?? config?.agents[0]?.name;
  const place = { config, settings: read, name, model: flags.model, root: folder, asks: true };
  const { agent, settings, plugins, notes } = await setUpAgent(place);
  const agents = agentsOf(agent, config);
  const engine = await openEngine(config);
  try {
    const runtime = await openRuntime({
      ...config,
      agents,
      engine,
      work: "all",
      plugins: [...plugins, ...(config?.plugins ?? [])],
      remember: config?.remember ?? keepRule(),
      permission: permissionOf(config, settings),
      ...(settings.sandbox !== undefined && {
        workspaces: { local: sandboxOf(settings.sandbox), ...config?.workspaces },
      }),
    });
    const names = agents.map((one) => one.name);
    const blob = (hash: string): Promise<Uint8Array> => engine.blob(hash);
    return { runtime, agent: agent.name, agents: names, folder, blob, notes: shown(notes) };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Those of the configuration, the chosen one as it was set up. */
function agentsOf(agent: Agent<unknown>, config: Config | undefined): readonly Agent<unknown>[] {
  const reached = reachedFrom(agent, config);
  const names = new Set(reached.map(({ name }) => name));
  const others = withInner((config?.agents ?? []) as readonly Agent<unknown>[]); // only their outputs differ in type
  return [
    ...reached,
    ...others.filter(({ name }) => !names.has(name)).map((other) => Object.freeze({ ...other, agents: [] })),
  ];
}

function shown(notes: AgentSetUp["notes"]): readonly string[] {
  return notes.flatMap(({ line, verbose }) => (verbose ? [] : [line]));
}

async function existingFolder(path: string): Promise<string> {
  const folder = resolve(path);
  if ((await stat(folder).catch(() => undefined))?.isDirectory() === true) return folder;
  throw new CapstanError("workspace-missing", `There is no folder ${folder}; name one with --cwd`);
}
