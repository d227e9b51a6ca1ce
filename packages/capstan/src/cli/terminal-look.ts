/** How the terminal looks: what it can show, the theme that was kept, and themes of the user's own. */

import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isUnicodeLocale, type Look, parseTheme, type Theme, THEMES } from "@capstan/tui/look";
import { z } from "zod";
import { homeFolders, makePrivateFolder } from "../home-folders.ts";
import { usage } from "./failure.ts";
import { readJsonFile } from "./json-file.ts";

export type TerminalLook = Look;

const kept = z.looseObject({ theme: z.string().exactOptional() });
const MAX_THEMES = 100;

/** `name`: of the command line. Throws `config-invalid` for a theme file that is none and `usage` for an unknown name. */
export async function terminalLook(name: string | undefined): Promise<TerminalLook> {
  const { settings } = homeFolders(process.env);
  const themes = await ownThemes(join(settings, "themes"));
  const all = [...THEMES, ...themes].map((theme) => theme.name);
  if (name !== undefined && !all.includes(name))
    throw usage(`There is no theme ${JSON.stringify(name)}; there are: ${all.join(", ")}`);
  const theme = name ?? (await readJsonFile(keptFile(), kept))?.theme;
  const depth = process.stdout.getColorDepth(process.env);
  return {
    depth: depth === 24 || depth === 8 || depth === 4 ? depth : 1,
    isUnicode: isUnicodeLocale(process.env),
    themes,
    ...(theme !== undefined && all.includes(theme) && { theme }),
  };
}

export async function keepTheme(theme: string): Promise<void> {
  await makePrivateFolder(homeFolders(process.env).settings);
  await writeFile(keptFile(), `${JSON.stringify({ theme })}\n`, { mode: 0o600 });
}

function keptFile(): string {
  return join(homeFolders(process.env).settings, "terminal.json");
}

async function ownThemes(folder: string): Promise<readonly Theme[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json")).slice(0, MAX_THEMES);
  const files = names.toSorted().map((name) => readJsonFile(join(folder, name), z.unknown()));
  return (await Promise.all(files)).map(parseTheme);
}
