/** What going back to a point of a session would do to its files, for people to see before it is done. */

import { type Engine, isProtectedPath, type Workspace, type WorkspaceRef } from "@capstan/core";
import type { FileAfter, FileBefore } from "./checkpoint-facts.ts";
import { changesSince, type Note } from "./changes-since.ts";
import { fileNow, type Now } from "./look-at-files.ts";
import { canRemove } from "./remove-file.ts";

export type RewindFile = {
  /** Relative to the workspace. */
  readonly path: string;
  readonly action: "write" | "remove";
  /** SHA-256 of what is there now, `null` when nothing is: only that is replaced. */
  readonly now: string | null;
  /** Bytes of it. */
  readonly nowSize: number;
  /** Names the content that is written, with its bytes. */
  readonly blob?: string;
  readonly size?: number;
  /**
   * Why it is left alone without consent: somebody else (a command, a person) changed it since, or between two changes of
   * the session; or nobody knows what the last call did to it.
   */
  readonly conflict?: "changed-since" | "changed-between" | "unknown";
};
export type LeftReason =
  /** Its old content was not kept: too large, no room, a secret in it, not readable, or no regular file. */
  | "not-kept"
  | "protected"
  /** A link, a folder or something special stands there now, or the path leads outside. */
  | "not-a-file"
  /** It was not there; this kind of workspace cannot remove files. */
  | "cannot-remove"
  /** Others changed it and nobody consented. */
  | "no-consent"
  /** It has changed since the plan was made. */
  | "changed"
  | "failed";
export type LeftFile = { readonly path: string; readonly why: LeftReason; readonly detail?: string };
/** JSON. */
export type RewindPlan = {
  readonly sessionId: string;
  readonly at: number;
  readonly workspace: WorkspaceRef;
  /** Sorted by path. Files that are already as they were are in none of the lists. */
  readonly files: readonly RewindFile[];
  readonly left: readonly LeftFile[];
  /** Titles of calls that ran programs since, oldest first: what else those changed is not undone. */
  readonly commands: readonly string[];
};

export type PlanOptions = {
  readonly engine: Engine;
  /** Opened for the plan; not closed. */
  readonly openWorkspace: (ref: WorkspaceRef) => Promise<Workspace>;
  readonly sessionId: string;
  /** Number of the last fact that is to count. */
  readonly at: number;
  readonly signal?: AbortSignal;
};

/** Changes nothing. Throws `session-not-found`, `session-damaged`, `cursor-invalid`, `workspace-missing`, `limit-reached`. */
export async function planRewind({ engine, openWorkspace, sessionId, at, signal }: PlanOptions): Promise<RewindPlan> {
  const { workspace: ref, files: changed, commands } = await changesSince(engine, sessionId, at);
  const workspace = await openWorkspace(ref);
  const files: RewindFile[] = [];
  const left: LeftFile[] = [];
  for (const path of [...changed.keys()].toSorted()) {
    const history = historyOf(changed.get(path) ?? []);
    if (history === undefined) continue;
    const planned = planFile(path, history, await fileNow(workspace, path, signal), canRemove(workspace));
    if (planned === undefined) continue;
    if (isProtectedPath(path, workspace.root)) left.push({ path, why: "protected" });
    else if ("why" in planned) left.push(planned);
    else files.push(planned);
  }
  return { sessionId, at, workspace: ref, files, left, commands };
}

type Known = string | null | undefined;
type History = {
  /** What it was at the point. */
  readonly target: FileBefore;
  /** SHA-256 after the last change, `null` for no file, undefined when nobody knows. */
  readonly known: Known;
  /** Somebody else changed it between two changes. */
  readonly isForeign: boolean;
};

/** Undefined when no call changed it. */
function historyOf(notes: readonly Note[]): History | undefined {
  const idle = idleCalls(notes);
  let target: FileBefore | undefined;
  let known: Known;
  let isForeign = false;
  const seen = new Set<Known>();
  for (const note of notes) {
    if (idle.has(note.callId)) continue;
    const is = hashOf(note);
    if (note.type === "before") {
      if (target !== undefined && !seen.has(is)) isForeign = true;
      target ??= note.file;
      known = undefined; // until the call says how it ended
    } else {
      if (note.file.replaced !== undefined && !seen.has(note.file.replaced)) isForeign = true;
      known = is;
    }
    seen.add(is);
  }
  return target === undefined ? undefined : { target, known, isForeign };
}

/** Calls that left the file as it was, such as one that was refused. */
function idleCalls(notes: readonly Note[]): ReadonlySet<string> {
  const before = new Map<string, Known>();
  const idle = new Set<string>();
  for (const note of notes) {
    const is = hashOf(note);
    if (note.type === "before") before.set(note.callId, is);
    else if (is !== undefined && note.file.replaced === undefined && before.get(note.callId) === is)
      idle.add(note.callId);
  }
  return idle;
}

function hashOf(note: Note): Known {
  return note.type === "before" ? hashBefore(note.file) : hashAfter(note.file);
}

function hashBefore(file: FileBefore): Known {
  switch (file.was) {
    case "kept":
      return file.blob;
    case "not-kept":
      return file.sha256;
    case "absent":
      return null;
    case "special":
    case "unclear":
      return undefined;
    default:
      return file satisfies never;
  }
}

function hashAfter(file: FileAfter): Known {
  return file.is === "file" ? file.sha256 : file.is === "absent" ? null : undefined;
}

function planFile(
  path: string,
  { target, known, isForeign }: History,
  current: Now,
  removes: boolean,
): RewindFile | LeftFile | undefined {
  const wanted = hashBefore(target);
  const now = current.type === "file" ? current.sha256 : current.type === "absent" ? null : undefined;
  if (wanted !== undefined && now === wanted) return undefined;
  if (target.was !== "kept" && target.was !== "absent")
    return target.was === "special" && current.type === "special" ? undefined : { path, why: "not-kept" };
  if (now === undefined) return { path, why: "not-a-file" };
  if (target.was === "absent" && !removes) return { path, why: "cannot-remove" };
  const conflict = conflictOf(known, now, isForeign);
  return {
    path,
    now,
    nowSize: current.type === "file" ? current.bytes.length : 0,
    ...(target.was === "kept" ? { action: "write", blob: target.blob, size: target.size } : { action: "remove" }),
    ...(conflict !== undefined && { conflict }),
  };
}

function conflictOf(known: Known, now: string | null, isForeign: boolean): RewindFile["conflict"] {
  if (known === undefined) return "unknown";
  if (known !== now) return "changed-since";
  return isForeign ? "changed-between" : undefined;
}
