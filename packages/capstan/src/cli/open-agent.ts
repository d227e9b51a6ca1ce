/** Opens a runtime for one agent on an engine that is open already, with the user's settings as the outermost rules. */

import type { Agent, Engine, Permission, Plugin, Runtime } from "@capstan/core";
import type { Config } from "../config.ts";
import { reachedFrom } from "./agents.ts";
import { openLocalEngine, openRuntime } from "../open-runtime.ts";
import type { AskPerson } from "./ask-person.ts";
import { keepRule } from "./keep-rule.ts";
import { sandboxOf } from "./sandbox-setting.ts";
import type { Settings } from "./settings.ts";

export type OpenAgent = {
  readonly engine: Engine;
  readonly agent: Agent<unknown>;
  readonly config: Config | undefined;
  readonly settings: Settings;
  /** Of the runtime, outside those of the configuration. */
  readonly plugins?: readonly Plugin[];
  /** Unless the configuration brings its own. */
  readonly onRequest: AskPerson | undefined;
};

/** The engine of the configuration, else that of the data folder. */
export function openEngine(config: Config | undefined): Promise<Engine> {
  return config?.engine === undefined ? openLocalEngine(config?.dataFolder) : Promise.resolve(config.engine);
}

/** Closes the engine with the runtime, and also when it throws. */
export async function openAgent(given: OpenAgent): Promise<Runtime> {
  const { engine, agent, config, settings, plugins = [], onRequest } = given;
  try {
    return await openRuntime({
      ...config,
      agents: reachedFrom(agent, config),
      engine,
      work: "own",
      plugins: [...plugins, ...(config?.plugins ?? [])],
      remember: config?.remember ?? keepRule(),
      permission: permissionOf(config, settings),
      ...(settings.sandbox !== undefined && {
        workspaces: { local: sandboxOf(settings.sandbox), ...config?.workspaces },
      }),
      ...(config?.onRequest === undefined && onRequest !== undefined && { onRequest }),
    });
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Rules of both count; the mode of the configuration comes first. */
export function permissionOf(config: Config | undefined, settings: Settings): Permission {
  const [inner, outer] = [config?.permission ?? {}, settings.permission ?? {}];
  const mode = inner.mode ?? outer.mode;
  const both = (name: "allow" | "ask" | "deny"): readonly string[] => [...(inner[name] ?? []), ...(outer[name] ?? [])];
  return { allow: both("allow"), ask: both("ask"), deny: both("deny"), ...(mode !== undefined && { mode }) };
}
