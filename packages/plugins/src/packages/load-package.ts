/** A package: a folder or npm package that brings skills, commands, rules, tools and plugins under one manifest. */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { CapstanError, hashJson, messageOf, type Plugin, sha256, type Tool } from "@capstan/core";
import type { CommandFolder } from "../commands/index.ts";
import { type DefinitionFolder, diskFolder, MAX_DEFINITION_FILES, subFolder } from "../definition-folder.ts";
import type { RulesFolder } from "../rules/index.ts";
import type { SkillFolder } from "../skills/index.ts";
import { loadTools, type ToolDiagnostic } from "./load-tools.ts";
import { type PackageManifest, readManifest } from "./package-manifest.ts";

/** What a person looks at before trusting it: nothing of it has been run. */
export type SeenPackage = {
  readonly folder: string;
  readonly manifest: PackageManifest;
  /** Of the names and bytes of all its files. */
  readonly hash: string;
  readonly files: readonly string[];
};
/** Parts for `loadSkills`, `loadCommands`, `rules` and `agent`. */
export type LoadedPackage = {
  readonly name: string;
  readonly skills: readonly SkillFolder[];
  readonly commands: readonly CommandFolder[];
  readonly rules: readonly RulesFolder[];
  readonly tools: readonly Tool[];
  readonly plugins: readonly Plugin[];
  readonly diagnostics: readonly ToolDiagnostic[];
};

const MAX_FILE_BYTES = 8_388_608;
const MAX_BYTES = 33_554_432;

/** Looks at a package and runs nothing. Throws `config-invalid` or `file-too-large`. */
export async function lookAtPackage(folder: string): Promise<SeenPackage> {
  const place = diskFolder(folder);
  const manifest = await readManifest(place);
  const files = await hashes(place);
  return { folder, manifest, hash: hashJson(files), files: Object.keys(files) };
}

/**
 * Loads a package that is trusted as it was seen: `hash` is that of the decision. Its skills, commands and rules are those
 * of the user; its modules are run. Throws `file-changed` when it is another package now, `config-invalid` for a module
 * that does not load.
 */
export async function loadPackage(folder: string, { hash }: { readonly hash: string }): Promise<LoadedPackage> {
  const seen = await lookAtPackage(folder);
  if (seen.hash !== hash) {
    const message = `What is in ${folder} is not what was trusted: its hash is ${seen.hash} now`;
    throw new CapstanError("file-changed", message);
  }
  const { manifest } = seen;
  const place = diskFolder(folder);
  const at = (name: string | undefined): readonly DefinitionFolder[] =>
    name === undefined ? [] : [subFolder(place, name)];
  const loaded =
    manifest.tools === undefined ? { tools: [], diagnostics: [] } : await loadTools(subFolder(place, manifest.tools));
  return {
    name: manifest.name,
    skills: at(manifest.skills).map((one) => ({ source: "user", folder: one })),
    commands: at(manifest.commands).map((one) => ({ source: "user", folder: one })),
    rules: at(manifest.rules).map((one) => ({ of: `the package ${manifest.name}`, folder: one })),
    tools: loaded.tools,
    plugins: manifest.plugins === undefined ? [] : await pluginsOf(folder, manifest.plugins),
    diagnostics: loaded.diagnostics,
  };
}

/** The folder of an npm package as a program in `from` would find it. Throws `config-invalid`. */
export function packageFolder(name: string, from: string): string {
  if (isAbsolute(name)) return name;
  const places = createRequire(join(from, "package.json")).resolve.paths(name) ?? [];
  const found = places.map((place) => join(place, name)).find((folder) => existsSync(join(folder, "package.json")));
  if (found !== undefined) return found;
  throw new CapstanError(
    "config-invalid",
    `There is no package ${JSON.stringify(name)} to be found from ${from}; install it there`,
  );
}

async function hashes(folder: DefinitionFolder): Promise<{ readonly [name: string]: string }> {
  const files: { [name: string]: string } = {};
  let bytes = 0;
  const names = await folder.list();
  if (names.length >= MAX_DEFINITION_FILES)
    throw new CapstanError(
      "file-too-large",
      `${folder.path} has more files than can be trusted: at most ${MAX_DEFINITION_FILES}`,
    );
  for (const name of names) {
    const content = await folder.read(name, MAX_FILE_BYTES);
    bytes += content?.length ?? 0;
    if (bytes > MAX_BYTES) throw new CapstanError("file-too-large", `${folder.path} has more than ${MAX_BYTES} bytes`);
    files[name] = content === undefined ? "unreadable" : sha256(content);
  }
  return files;
}

async function pluginsOf(folder: string, module: string): Promise<readonly Plugin[]> {
  const file = join(folder, module);
  try {
    const { default: found } = (await import(pathToFileURL(file).href)) as { readonly default?: unknown };
    const made: unknown = typeof found === "function" ? await (found as () => unknown)() : found; // any function may be called
    const given = Array.isArray(made) ? (made as readonly unknown[]) : [made];
    if (given.length > 0 && given.every(isPlugin)) return given;
    throw new Error("its default export is no plugin, no list of them and no function that returns one");
  } catch (cause) {
    throw new CapstanError(
      "config-invalid",
      `${dirname(file)}: its module ${module} does not load: ${messageOf(cause)}`,
      { cause },
    );
  }
}

function isPlugin(value: unknown): value is Plugin {
  return typeof value === "object" && value !== null && "name" in value && typeof value.name === "string";
}
