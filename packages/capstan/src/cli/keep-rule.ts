/** Writes the rules of "always" answers for an agent, or for all of them, into the user's own settings. */

import type { RuntimeOptions } from "@capstan/core";
import type { Env } from "../home-folders.ts";
import { changeSettings } from "./change-settings.ts";
import type { Settings } from "./settings.ts";

type Remember = NonNullable<RuntimeOptions["remember"]>;

export function keepRule(env: Env = process.env): Remember {
  return (rule, { scope, agent }) =>
    changeSettings((settings) => withRule(settings, rule, scope === "agent" ? agent : undefined), env);
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
