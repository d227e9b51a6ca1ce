/** `capstan.json` of a package: what it is called and where in it skills, commands, rules, tools and plugins lie. */

import { CapstanError, messageOf } from "@capstan/core";
import { type DefinitionFolder, isPlainName, readText } from "../definition-folder.ts";
import { plainLine } from "../plain-line.ts";

export type PackageManifest = {
  /** Lower-case letters, digits, `-`, `.` and `/` after an `@scope`. */
  readonly name: string;
  readonly version?: string;
  readonly description?: string;
  /** Folders in the package; undefined: it has none. */
  readonly skills?: string;
  readonly commands?: string;
  readonly rules?: string;
  readonly tools?: string;
  /** Module whose default export is a plugin, a list of them, or a function that returns either. */
  readonly plugins?: string;
};

export const MANIFEST = "capstan.json";
const CLAUDE_MANIFEST = ".claude-plugin/plugin.json";
const MAX_BYTES = 65_536;
const NAME = /^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]{0,99}$/;
const PLACES = ["skills", "commands", "rules", "tools", "plugins"] as const;
const TEXTS = ["name", "version", "description"] as const;

/**
 * Without a `capstan.json` the manifest of a Claude Code plugin is taken: its `skills` and `commands` folders; its hooks,
 * agents and servers are not used. Throws `config-invalid`.
 */
export async function readManifest(folder: DefinitionFolder): Promise<PackageManifest> {
  const own = await readText(folder, MANIFEST, MAX_BYTES);
  if (own !== undefined) return checked(own, `${folder.path}/${MANIFEST}`, true);
  const claude = await readText(folder, CLAUDE_MANIFEST, MAX_BYTES);
  if (claude === undefined) throw invalid(`${folder.path}/${MANIFEST}`, "there is no such file: it is no package");
  const { name, version, description } = checked(claude, `${folder.path}/${CLAUDE_MANIFEST}`, false);
  const names = await folder.list();
  const has = (place: string): boolean => names.some((one) => one.startsWith(`${place}/`));
  return {
    name,
    ...(version !== undefined && { version }),
    ...(description !== undefined && { description }),
    ...(has("skills") && { skills: "skills" }),
    ...(has("commands") && { commands: "commands" }),
  };
}

function checked(text: string, file: string, isOwn: boolean): PackageManifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(file, `not JSON: ${messageOf(cause)}`, cause);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(file, "it is no object");
  const given = new Map(Object.entries(value));
  const known: readonly string[] = [...TEXTS, ...PLACES];
  const unknown = [...given.keys()].find((name) => !known.includes(name));
  if (isOwn && unknown !== undefined) throw invalid(file, `it has no member ${JSON.stringify(plainLine(unknown, 60))}`);
  const manifest: { [name: string]: string } = {};
  for (const member of isOwn ? known : TEXTS) {
    const said: unknown = given.get(member);
    if (said === undefined) continue;
    if (typeof said !== "string") throw invalid(file, `${member}: it is a text`);
    manifest[member] = PLACES.some((place) => place === member) ? placeOf(said, member, file) : plainLine(said, 500);
  }
  const { name, ...rest } = manifest;
  if (name === undefined || !NAME.test(name))
    throw invalid(file, "name: it needs one, such as my-package or @team/my-package");
  return { ...rest, name };
}

function placeOf(said: string, member: string, file: string): string {
  const place = said.replace(/^\.\//, "").replace(/\/$/, "");
  if (!isPlainName(place))
    throw invalid(file, `${member}: ${JSON.stringify(plainLine(said, 100))} is no place in the package`);
  return place;
}

function invalid(file: string, why: string, cause?: unknown): CapstanError {
  return new CapstanError("config-invalid", `${file}: ${why}`, { cause });
}
