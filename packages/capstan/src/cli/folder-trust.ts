/** Whether the folder of a session is trusted, asked of a person where there is one and something would be used. */

import { CapstanError } from "@capstan/core";
import { settledTrust, type Trust } from "../trust.ts";
import { CLAUDE_FILES } from "./claude-settings.ts";
import { PROJECT_FOLDERS } from "./definitions.ts";
import { INSTRUCTION_FILES } from "./folder-instructions.ts";
import { inertLine } from "./inert.ts";
import { MCP_FILE } from "./mcp-servers.ts";
import { SETTINGS_FILES } from "./project-settings.ts";

export type AskTrust = (trust: Trust) => Promise<boolean>;
export type FolderTrust = {
  readonly trust?: Trust;
  /** Why what is there is not used. */
  readonly unused?: string;
};

const FILES: ReadonlySet<string> = new Set([...CLAUDE_FILES, ...INSTRUCTION_FILES, ...SETTINGS_FILES, MCP_FILE]);
const FOLDERS: readonly string[] = Object.values(PROJECT_FOLDERS).flat();
const SHOWN = 3;

/** Never throws for what is in the folder: it is used, or it is said why not. */
export async function folderTrust(root: string, ask: AskTrust | undefined): Promise<FolderTrust> {
  const isUsed = ({ files, changed }: Trust): boolean => [...files, ...changed].some(isOfUse);
  const asked: AskTrust | undefined = ask && (async (seen) => isUsed(seen) && (await ask(seen)));
  try {
    const trust = await settledTrust(root, asked === undefined ? {} : { ask: asked });
    if (trust.state === "trusted") return { trust };
    return isUsed(trust) ? { unused: unusedLine(trust) } : {};
  } catch (error) {
    if (!CapstanError.is(error)) throw error;
    if (error.code === "workspace-missing") return {}; // whoever opens it says so
    return { unused: `The settings and instructions of ${inertLine(root)} are not used: ${inertLine(error.message)}` };
  }
}

function isOfUse(name: string): boolean {
  return FILES.has(name) || FOLDERS.some((folder) => name.startsWith(`${folder}/`));
}

function unusedLine({ folder, state, files }: Trust): string {
  const names = files.filter(isOfUse);
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : "";
  const what = names.length === 0 ? "settings and instructions of this folder" : names.slice(0, SHOWN).join(", ");
  const why = state === "changed" ? "what you trusted has changed" : "you have not trusted this folder";
  return `Not used: ${what}${more}; ${why}, see "capstan trust '${inertLine(folder)}'"`;
}
