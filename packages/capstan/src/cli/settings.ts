/** The user's own settings: `settings.json`, beside nothing that a project could write. */

import { join } from "node:path";
import { messageOf, parseRule, type Permission } from "@capstan/core";
import { z } from "zod";
import { type Env, homeFolders } from "../home-folders.ts";
import { readJsonFile } from "./json-file.ts";

const MODES = ["ask", "accept-edits", "bypass", "plan", "never-ask"] as const;

const rule = z.string().superRefine((text, context) => {
  try {
    parseRule(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: messageOf(error) });
  }
});
export const permissionSchema: z.ZodType<Permission> = z.strictObject({
  mode: z.enum(MODES).exactOptional(),
  allow: z.array(rule).exactOptional(),
  ask: z.array(rule).exactOptional(),
  deny: z.array(rule).exactOptional(),
});
export type Settings = { readonly model?: string; readonly permission?: Permission };
const settingsSchema: z.ZodType<Settings> = z.strictObject({
  model: z.string().min(1).exactOptional(),
  permission: permissionSchema.exactOptional(),
});

export function settingsFile(env: Env): string {
  return join(homeFolders(env).settings, "settings.json");
}

/** Empty when there is no file. Throws `config-invalid`. */
export async function readSettings(env: Env = process.env): Promise<Settings> {
  return (await readJsonFile(settingsFile(env), settingsSchema)) ?? {};
}
