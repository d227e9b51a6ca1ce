/** Which plugins take part in a session, and which of them in one run. */

import type { Agent } from "../ports/agent.ts";
import type { Definitions } from "../ports/definitions.ts";
import type { Plugin } from "../ports/plugin.ts";
import type { RunState } from "../state/session-state.ts";
import type { Parent } from "../words/event.ts";

/**
 * Plugins of the runtime, then of the agent, outermost first. The `tool` hooks of the ancestors stand around a sub-agent's
 * calls too: what a parent forbids, its children do not do.
 */
export function pluginsOf(
  definitions: Definitions,
  agent: Agent<unknown>,
  parent: Parent | undefined,
): readonly Plugin[] {
  const own = [...definitions.plugins, ...agent.plugins];
  if (parent === undefined) return own;
  const names = new Set(own.map(({ name }) => name));
  const seen = new Set<Plugin>(own);
  const inherited = parent.agents.flatMap((ancestor) =>
    definitions.agent(ancestor).plugins.flatMap((plugin): Plugin[] => {
      if (plugin.tool === undefined || seen.has(plugin)) return []; // its own is whole
      seen.add(plugin);
      const name = names.has(plugin.name) ? `${ancestor}/${plugin.name}` : plugin.name; // another one of the same name
      names.add(name);
      return [toolHookOf(plugin, name)];
    }),
  );
  return [...definitions.plugins, ...inherited, ...agent.plugins];
}

function toolHookOf(plugin: Plugin, name: string): Plugin {
  const { fold, onFailure, timeoutMs, scope } = plugin;
  return {
    name,
    tool: (...hooked) => plugin.tool?.(...hooked) ?? hooked[2](hooked[0]),
    ...(fold !== undefined && { fold }),
    ...(onFailure !== undefined && { onFailure }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(scope !== undefined && { scope }),
  };
}

/** Of those for single runs the ones that this run names, and all others. */
export function pluginsOfRun(plugins: readonly Plugin[], run: RunState | undefined): readonly Plugin[] {
  if (!plugins.some(({ scope }) => scope === "run")) return plugins;
  const named = run?.overrides?.plugins ?? [];
  return plugins.filter(({ name, scope }) => scope !== "run" || named.includes(name));
}

/** Names that the run's input gave and none of these plugins has. */
export function missingPlugins(plugins: readonly Plugin[], run: RunState | undefined): readonly string[] {
  const named = run?.overrides?.plugins ?? [];
  return named.filter((name) => !plugins.some((plugin) => plugin.name === name && plugin.scope === "run"));
}
