/** Hooks of settings files as plugins: those of the user, and those of a trusted folder, which can only tighten. */

import { CapstanError, type Json, messageOf, type Plugin } from "@capstan/core";
import type { SettingsHooksOptions } from "@capstan/plugins/settings-hooks";
import type { ClaudeSettings } from "./claude-settings.ts";
import { type Settings, settingsFile } from "./settings.ts";

/** Throws `config-invalid` for hooks that cannot be kept: a guard is not lost in silence. */
export async function userHooks({ hooks, plugins = {} }: Settings): Promise<readonly Plugin[]> {
  if (hooks === undefined || plugins["settings-hooks"] === false) return [];
  return [await hooksPlugin({ hooks }, { from: "user" }, settingsFile(process.env))];
}

/** The files of one folder as one: a later one adds to those before it, and any may switch all off. */
export async function folderHooks(
  files: readonly ClaudeSettings[],
  root: string | undefined,
  { plugins = {} }: Settings,
): Promise<readonly Plugin[]> {
  const given = files.flatMap(({ file, hooks }) => (hooks === undefined ? [] : [{ file, hooks }]));
  if (given.length === 0 || plugins["settings-hooks-project"] === false) return [];
  if (given.some(({ hooks }) => hooks["disableAllHooks"] === true)) return [];
  const names = given.map(({ file }) => file).join(" and ");
  const options = { from: "project", env: root === undefined ? {} : { CLAUDE_PROJECT_DIR: root } } as const;
  for (const { file, hooks } of given) await hooksPlugin(hooks, options, file); // each by itself, so that the right one is named
  const moments: { [name: string]: Json[] } = {};
  for (const { hooks } of given) {
    // each is an object of lists: it was looked at above
    for (const [name, groups] of Object.entries(hooks["hooks"] as { readonly [name: string]: readonly Json[] }))
      (moments[name] ??= []).push(...groups);
  }
  return [await hooksPlugin({ hooks: moments }, options, names)];
}

async function hooksPlugin(settings: unknown, options: SettingsHooksOptions, file: string): Promise<Plugin> {
  const { settingsHooks } = await import("@capstan/plugins/settings-hooks");
  try {
    return settingsHooks(settings, options);
  } catch (cause) {
    const name = options.from === "user" ? "settings-hooks" : "settings-hooks-project";
    const cure = `correct it, or switch its hooks off with { "plugins": { "${name}": false } } in ${settingsFile(process.env)}`;
    throw new CapstanError("config-invalid", `${file}: ${messageOf(cause)}; ${cure}`, { cause });
  }
}
