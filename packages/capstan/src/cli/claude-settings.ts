/** `.claude/settings.json`, the user's own and that of a trusted folder: permission rules, and the folder's hooks (G15, G19). */

import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { claudeRules, type Json, messageOf, type PermissionRules } from "@capstan/core";
import { type Env, homeFolder } from "../home-folders.ts";
import { readRegular } from "../trust-files.ts";
import type { Trust } from "../trust.ts";

export const CLAUDE_FILES = [".claude/settings.json", ".claude/settings.local.json"] as const;

export type ClaudeSettings = {
  readonly file: string;
  readonly rules: PermissionRules;
  /** What does not hold as it is written, one line each. */
  readonly problems: readonly string[];
  /** The whole file, when it has hooks. */
  readonly hooks?: Members;
};
type Members = { readonly [name: string]: Json };

/** Rules only: the mode is Capstan's own setting, and hooks are those of Capstan's settings. Undefined without a file. */
export async function userClaudeSettings(root: string, env: Env = process.env): Promise<ClaudeSettings | undefined> {
  const own = env["CLAUDE_CONFIG_DIR"];
  const folder = own !== undefined && isAbsolute(own) ? own : join(homeFolder(), ".claude"); // never a project's
  const file = join(folder, "settings.json");
  const bytes = await readRegular(file);
  if (bytes === undefined) {
    return existsSync(file) ? { file, rules: {}, problems: ["it cannot be read"] } : undefined;
  }
  const { hooks: _hooks, ...read } = parsed(file, bytes, root);
  return read;
}

/** Only what tightens: ask and deny rules. Nothing of a folder that is not trusted. */
export async function folderClaudeSettings(trust: Trust): Promise<readonly ClaudeSettings[]> {
  const found: ClaudeSettings[] = [];
  for (const name of CLAUDE_FILES) {
    const bytes = await trust.read(name);
    if (bytes === undefined) continue;
    const read = parsed(name, bytes, trust.folder);
    const { ask = [], deny = [] } = read.rules;
    found.push({ ...read, rules: { ask, deny }, problems: read.problems.filter((line) => !line.startsWith("allow ")) });
  }
  return found;
}

/** A file that cannot be read is told, and holds no rules. */
function parsed(file: string, bytes: Uint8Array, root: string): ClaudeSettings {
  let read: Json;
  try {
    read = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as Json;
  } catch (error) {
    return { file, rules: {}, problems: [`it is not JSON, and its rules do not hold: ${messageOf(error)}`] };
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) {
    return { file, rules: {}, problems: ["it is no object, and its rules do not hold"] };
  }
  const value = read as Members; // no list, as was just seen
  const { permission, problems } = claudeRules(value["permissions"], { root, home: homeFolder() });
  const { allow = [], ask = [], deny = [] } = permission;
  return { file, rules: { allow, ask, deny }, problems, ...(value["hooks"] !== undefined && { hooks: value }) };
}
