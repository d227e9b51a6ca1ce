/** Removing a file of a workspace, where its kind can: the port itself only writes. */

import type { Workspace } from "@capstan/core";

/** Removes the regular file of exactly this name that holds `expected` (SHA-256). Throws as `Workspace.write`. */
type RemoveFile = (
  path: string,
  options: { readonly expected: string; readonly signal?: AbortSignal },
) => Promise<void>;
type Removing = Workspace & { readonly remove: RemoveFile };

export function canRemove(workspace: Workspace): workspace is Removing {
  return "remove" in workspace && typeof workspace.remove === "function";
}
