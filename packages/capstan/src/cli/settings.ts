/** The user's own settings: `settings.json`, beside nothing that a project could write. */

import { isAbsolute, join } from "node:path";
import { messageOf, parseRule, type Permission, PERMISSION_MODES } from "@capstan/core";
import { z } from "zod";
import { type Env, homeFolders } from "../home-folders.ts";
import { readJsonFile } from "./json-file.ts";

const rule = z.string().superRefine((text, context) => {
  try {
    parseRule(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: messageOf(error) });
  }
});
export const permissionSchema: z.ZodType<Permission> = z.strictObject({
  mode: z.enum(PERMISSION_MODES).exactOptional(),
  allow: z.array(rule).exactOptional(),
  ask: z.array(rule).exactOptional(),
  deny: z.array(rule).exactOptional(),
});
export type SandboxSettings = {
  /** Default `preferred`. */
  readonly confinement?: "required" | "preferred" | "off";
  /** Default `bwrap`. */
  readonly kind?: "bwrap" | "srt";
  /** `true`, or names of hosts where the kind is `srt`. Default none. */
  readonly network?: boolean | readonly string[];
  /** Absolute paths. */
  readonly writable?: readonly string[];
  readonly readable?: readonly string[];
};
/** What the coding agent has by default, and the hooks of settings files. */
export const PLUGINS = [
  "attachments",
  "background-shell",
  "checkpoints",
  "commands",
  "compaction",
  "loop-guard",
  "omission-guard",
  "output-limit",
  "read-before-edit",
  "rules",
  "settings-hooks",
  "settings-hooks-project",
  "skills",
] as const;
export type PluginSwitches = { readonly [name in (typeof PLUGINS)[number]]?: false };
/** Rules given with "always", which Capstan writes itself. */
export type AlwaysRules = {
  readonly all?: readonly string[];
  readonly agents?: { readonly [agent: string]: readonly string[] };
};
/** Names of skills: only these, and not these. */
export type SkillSettings = { readonly include?: readonly string[]; readonly exclude?: readonly string[] };
/** A package that the user trusts as it was seen: the name of an npm package or an absolute path, and the hash of its files. */
export type PackageSetting = { readonly from: string; readonly hash: string };
export type Settings = {
  readonly model?: string;
  readonly permission?: Permission;
  readonly always?: AlwaysRules;
  readonly plugins?: PluginSwitches;
  /** As `settingsHooks` takes them. */
  readonly hooks?: { readonly [event: string]: unknown };
  /** What programs run in. Absent: they run as the user. */
  readonly sandbox?: SandboxSettings;
  readonly skills?: SkillSettings;
  readonly packages?: readonly PackageSetting[];
};
const absolute = z.string().refine((path) => isAbsolute(path), "it must be an absolute path");
const sandboxSchema: z.ZodType<SandboxSettings> = z.strictObject({
  confinement: z.enum(["required", "preferred", "off"]).exactOptional(),
  kind: z.enum(["bwrap", "srt"]).exactOptional(),
  network: z.union([z.boolean(), z.array(z.string().min(1))]).exactOptional(),
  writable: z.array(absolute).exactOptional(),
  readable: z.array(absolute).exactOptional(),
});
export const skillsSchema: z.ZodType<SkillSettings> = z.strictObject({
  include: z.array(z.string().min(1)).exactOptional(),
  exclude: z.array(z.string().min(1)).exactOptional(),
});
const settingsSchema: z.ZodType<Settings> = z.strictObject({
  model: z.string().min(1).exactOptional(),
  permission: permissionSchema.exactOptional(),
  always: z
    .strictObject({ all: z.array(rule).exactOptional(), agents: z.record(z.string(), z.array(rule)).exactOptional() })
    .exactOptional(),
  plugins: z.partialRecord(z.enum(PLUGINS), z.literal(false)).exactOptional(),
  hooks: z.record(z.string(), z.unknown()).exactOptional(),
  sandbox: sandboxSchema.exactOptional(),
  skills: skillsSchema.exactOptional(),
  packages: z
    .array(
      z.strictObject({
        from: z.string().min(1),
        hash: z.string().regex(/^[0-9a-f]{64}$/, "it is the hash that capstan packages shows"),
      }),
    )
    .exactOptional(),
});

export function settingsFile(env: Env): string {
  return join(homeFolders(env).settings, "settings.json");
}

/** Empty when there is no file. Throws `config-invalid`. */
export async function readSettings(env: Env = process.env): Promise<Settings> {
  return (await readJsonFile(settingsFile(env), settingsSchema)) ?? {};
}
