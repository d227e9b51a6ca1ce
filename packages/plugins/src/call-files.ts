/** The files that a call reads or writes, and what they hold now: for plugins that guard files. */

import { CapstanError, check, type HookedCall, type Need, type SessionState, type Workspace } from "@capstan/core";

/** What the call says that it touches; nothing when its arguments do not fit the tool, which the loop then refuses. */
async function needsOf({ tool, input }: HookedCall): Promise<readonly Need[]> {
  const checked = await check(tool.schema, structuredClone(input));
  return checked.ok ? tool.needs(checked.value) : [];
}

/** Paths of one kind, as the call names them, each once. */
export async function pathsOf(call: HookedCall, type: "read" | "write"): Promise<readonly string[]> {
  const needs = await needsOf(call);
  return [...new Set(needs.flatMap((need) => (need.type === type ? [need.path] : [])))];
}

/** Whether the call was begun already: a crash came in between, and its hooks run again. */
export function isBegun(state: SessionState, callId: string): boolean {
  return state.run?.calls.some(({ part, status }) => part.callId === callId && status === "started") === true;
}

/** `path` is the one name the workspace has for the file. `unclear`: a folder, too large, or not to be read. */
export type Seen =
  | { readonly type: "file"; readonly path: string; readonly hash: string }
  | { readonly type: "absent" | "unclear"; readonly path: string };

/** Never throws for what is wrong with a path: the tool itself says that. */
export async function lookAt(workspace: Workspace, path: string, signal: AbortSignal): Promise<Seen> {
  try {
    const file = await workspace.read(path, { signal });
    return { type: "file", path: file.path, hash: file.hash };
  } catch (error) {
    signal.throwIfAborted();
    if (!CapstanError.is(error)) throw error;
    return { type: error.code === "path-not-found" ? "absent" : "unclear", path };
  }
}
