/** `.capstan/settings.json` and `.capstan/settings.local.json` of a trusted folder: what may say more than the user, and only tighten. */

import { CapstanError, messageOf, PERMISSION_MODES, type PermissionMode } from "@capstan/core";
import { z } from "zod";
import type { Trust } from "../trust.ts";
import type { ClaudeSettings } from "./claude-settings.ts";
import { parsedJson } from "./json-file.ts";
import { permissionSchema, type Settings, skillsSchema, type SkillSettings } from "./settings.ts";

/** The later one wins where there can be only one. */
export const SETTINGS_FILES = [".capstan/settings.json", ".capstan/settings.local.json"] as const;

type ProjectSettings = {
  readonly model?: string;
  readonly permission?: z.infer<typeof permissionSchema>;
  readonly hooks?: Settings["hooks"];
  readonly skills?: SkillSettings;
};
const schema: z.ZodType<ProjectSettings> = z.strictObject({
  model: z.string().min(1).exactOptional(),
  permission: permissionSchema.exactOptional(),
  hooks: z.record(z.string(), z.unknown()).exactOptional(),
  skills: skillsSchema.exactOptional(),
});

export type Layers = {
  /** Of the user, with what the layers of the folder may change. */
  readonly settings: Settings;
  /** Their rules and hooks, a file each, in the form of other settings of a folder. */
  readonly files: readonly ClaudeSettings[];
};

/** Throws `config-invalid` with the file and the place: a limit of a project is not lost in silence. */
export async function withProjectSettings(settings: Settings, trust: Trust | undefined): Promise<Layers> {
  let layered = settings;
  const files: ClaudeSettings[] = [];
  for (const file of SETTINGS_FILES) {
    const bytes = await trust?.read(file);
    if (bytes === undefined || trust === undefined) continue;
    const read = parsed(`${trust.folder}/${file}`, bytes);
    const { allow = [], ask = [], deny = [], mode } = read.permission ?? {};
    const stricter = mode !== undefined && rank(mode) > rank(layered.permission?.mode ?? "ask");
    const problems = [
      ...(allow.length > 0 ? ["its allow rules do not hold: a folder can only tighten"] : []),
      ...(mode !== undefined && !stricter && mode !== (layered.permission?.mode ?? "ask")
        ? [`its mode ${mode} does not hold: a folder can only tighten`]
        : []),
    ];
    files.push({
      file,
      rules: { ask, deny },
      problems,
      ...(read.hooks !== undefined && { hooks: { hooks: read.hooks as never } }),
    }); // settingsHooks checks it
    layered = {
      ...layered,
      ...(read.model !== undefined && { model: read.model }),
      ...(stricter && { permission: { ...layered.permission, mode } }),
      ...(read.skills !== undefined && { skills: narrower(layered.skills ?? {}, read.skills) }),
    };
  }
  return { settings: layered, files };
}

/** How much a mode keeps back. */
function rank(mode: PermissionMode): number {
  const order: readonly PermissionMode[] = ["bypass", "accept-edits", "ask", "never-ask", "plan"];
  return order.indexOf(mode) % PERMISSION_MODES.length;
}

/** A folder may leave skills out, not bring those back that the user left out. */
function narrower(user: SkillSettings, folder: SkillSettings): SkillSettings {
  const include =
    user.include === undefined
      ? folder.include
      : folder.include === undefined
        ? user.include
        : user.include.filter((name) => folder.include?.includes(name));
  const exclude = [...(user.exclude ?? []), ...(folder.exclude ?? [])];
  return { ...(include !== undefined && { include }), ...(exclude.length > 0 && { exclude }) };
}

function parsed(file: string, bytes: Uint8Array): ProjectSettings {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new CapstanError("config-invalid", `${file}: it is not UTF-8 text; correct it or move it away`, { cause });
  }
  try {
    return parsedJson(file, text, schema);
  } catch (error) {
    if (!CapstanError.is(error, "config-invalid")) throw error;
    throw new CapstanError(
      "config-invalid",
      `${messageOf(error)}. A folder may set: model, permission (ask, deny, a stricter mode), hooks, skills`,
      { cause: error },
    );
  }
}
