/** Where Capstan keeps what is not part of a project: `$CAPSTAN_HOME`, else the XDG folders (basedir 0.8). */

import { mkdir, stat } from "node:fs/promises";
import { homedir, userInfo } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { CapstanError, messageOf } from "@capstan/core";

export type Env = Readonly<Record<string, string | undefined>>;
/** Absolute paths. `data` holds sessions, `settings` the user's own settings. */
export type HomeFolders = { readonly data: string; readonly settings: string };

/** Throws `usage` for a `CAPSTAN_HOME` that is relative. */
export function homeFolders(env: Env): HomeFolders {
  const own = env["CAPSTAN_HOME"];
  if (own !== undefined && own.trim() !== "") {
    if (isAbsolute(own)) return { data: resolve(own), settings: resolve(own) };
    // in every folder another one, with the settings and decisions that a project brings along
    throw new CapstanError("usage", `CAPSTAN_HOME must be an absolute path, not ${JSON.stringify(own)}`);
  }
  if (process.platform === "win32") {
    const local = join(env["LOCALAPPDATA"] ?? join(homeFolder(), "AppData", "Local"), "capstan");
    return { data: local, settings: local };
  }
  return {
    data: join(xdg(env["XDG_DATA_HOME"], ".local/share"), "capstan"),
    settings: join(xdg(env["XDG_CONFIG_HOME"], ".config"), "capstan"),
  };
}

/** An empty or relative `HOME` would be a folder of the project. */
export function homeFolder(named: string = homedir()): string {
  return isAbsolute(named) ? named : userInfo().homedir;
}

/** Makes the folder, private to the user, when it is not there. Throws `store-readonly` or `store-full`. */
export async function makePrivateFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder);
  } catch (cause) {
    const code = codeOf(cause) ?? messageOf(cause);
    if (code === "ENOSPC" || code === "EDQUOT") {
      throw new CapstanError("store-full", `There is no space left for ${folder}; free some and try again`, { cause });
    }
    const message = `The data folder ${folder} cannot be made (${code}); make its parent writable or set CAPSTAN_HOME`;
    throw new CapstanError("store-readonly", message, { cause });
  }
}

/** A relative path in an XDG variable does not count. */
function xdg(value: string | undefined, otherwise: string): string {
  return value !== undefined && isAbsolute(value) ? value : join(homeFolder(), otherwise);
}

/** Not `recursive`: Node's own never returns where a parent cannot hold folders, as below /proc. */
async function makeFolder(folder: string, parentIsThere = false): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST" && (await stat(folder)).isDirectory()) return;
    if (code !== "ENOENT" || parentIsThere || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await makeFolder(folder, true);
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
