/** The slash commands that an agent takes up, as the terminal lists them: those of its plugins, of folders, and its skills. */

import type { Agent, Plugin } from "@capstan/core";
import type { CommandInfo } from "@capstan/tui";
import type { Definitions } from "./definitions.ts";
import { inertLine } from "./inert.ts";

const OF_PLUGINS: { readonly [plugin: string]: readonly CommandInfo[] } = {
  commands: [
    { name: "session", description: "what this session is" },
    { name: "reset", description: "the model forgets what was said before" },
  ],
  compaction: [{ name: "compact", description: "sums up the conversation to make room" }],
};

export function slashCommands(
  agent: Agent<unknown>,
  plugins: readonly Plugin[],
  definitions: Definitions | undefined,
): readonly CommandInfo[] {
  const names = [...plugins, ...agent.plugins].map(({ name }) => name);
  const ofPlugins = names.flatMap((name) => (Object.hasOwn(OF_PLUGINS, name) ? (OF_PLUGINS[name] ?? []) : []));
  const found = definitions === undefined ? [] : [...definitions.commands.commands, ...definitions.skills.skills];
  return [...ofPlugins, ...found.map(({ name, description }) => ({ name, description: inertLine(description, 120) }))];
}
