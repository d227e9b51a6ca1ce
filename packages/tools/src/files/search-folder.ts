/** Where a search starts: the real folder of a name, and the names of what it finds. */

import { CapstanError, type Workspace } from "@capstan/core";
import { quote } from "../workspaces/paths.ts";

export type SearchFolder = {
  /** Relative to the root. */
  readonly folder: string;
  /** Name of the one file to search, when the path is a file. */
  readonly file?: string;
  /** Path relative to the root of what the search calls `./name`. */
  readonly nameOf: (found: string) => string;
  readonly size: number;
};

/** Throws as `Workspace.stat`, and `path-invalid` when the path leads through a link. */
export async function searchFolder(workspace: Workspace, path: string): Promise<SearchFolder> {
  const info = await workspace.stat(path);
  if (workspace.resolve(info.path) !== workspace.resolve(path)) {
    throw new CapstanError("path-invalid", `${quote(path)} is another name of ${quote(info.path)}. Use that path`);
  }
  const slash = info.path.lastIndexOf("/");
  const inFolder = info.type === "folder" ? info.path : slash === -1 ? "." : info.path.slice(0, slash);
  const prefix = inFolder === "." ? "" : `${inFolder}/`;
  return {
    folder: inFolder,
    ...(info.type === "file" && { file: info.path.slice(slash + 1) }),
    size: info.size,
    nameOf: (found) => prefix + found.replace(/^\.\//, ""),
  };
}
