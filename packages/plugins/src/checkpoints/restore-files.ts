/** Doing what a plan says, file after file, each in one step: what a crash leaves is found by the next plan. */

import { CapstanError, type Engine, isProtectedPath, sha256, type Workspace } from "@capstan/core";
import type { LeftFile, LeftReason, RewindFile, RewindPlan } from "./plan-rewind.ts";
import { canRemove } from "./remove-file.ts";

export type RestoreOptions = {
  /** Paths with a `conflict` that may be overwritten or removed all the same. What is there now is then lost. */
  readonly overwrite?: readonly string[];
  readonly signal?: AbortSignal;
};
export type Restored = {
  /** Paths that are as they were now. */
  readonly restored: readonly string[];
  /** Also those of the plan. */
  readonly left: readonly LeftFile[];
};
type Place = { readonly engine: Engine; readonly workspace: Workspace };

/** Files that are not as the plan saw them are left. Throws `session-busy` while a run of the session is driven; as the store. */
export async function restoreFiles(
  plan: RewindPlan,
  { engine, workspace }: Place,
  { overwrite = [], signal }: RestoreOptions = {},
): Promise<Restored> {
  const summary = await engine.summary(plan.sessionId);
  if (summary?.status === "running" && summary.held === true)
    throw new CapstanError("session-busy", "A run of this session is at work; interrupt it or wait for its end");
  const consented = new Set(overwrite);
  const restored: string[] = [];
  const left = [...plan.left];
  for (const file of plan.files) {
    signal?.throwIfAborted();
    const problem = await restoreFile(file, { engine, workspace }, consented, signal);
    if (problem === undefined) restored.push(file.path);
    else left.push({ path: file.path, ...problem });
  }
  return { restored, left };
}

type Problem = Omit<LeftFile, "path">;

async function restoreFile(
  file: RewindFile,
  { engine, workspace }: Place,
  consented: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<Problem | undefined> {
  const { path, action, now, blob } = file;
  if (isProtectedPath(path, workspace.root)) return { why: "protected" };
  if (file.conflict !== undefined && !consented.has(path)) return { why: "no-consent" };
  const stop = signal === undefined ? {} : { signal };
  try {
    if (action === "remove") {
      if (!canRemove(workspace)) return { why: "cannot-remove" };
      if (now !== null) await workspace.remove(path, { expected: now, ...stop });
      return undefined;
    }
    const bytes = blob === undefined ? undefined : await engine.blob(blob);
    if (bytes === undefined || sha256(bytes) !== blob) return { why: "not-kept" };
    await workspace.write(path, bytes, { expected: now, exact: true, ...stop });
    return undefined;
  } catch (error) {
    signal?.throwIfAborted();
    const why = CapstanError.is(error) ? REASONS[error.code] : undefined;
    if (why === undefined || !CapstanError.is(error)) throw error;
    return { why, detail: error.message };
  }
}

const REASONS: { readonly [code: string]: LeftReason | undefined } = {
  "file-changed": "changed",
  "blob-missing": "not-kept",
  "path-invalid": "not-a-file",
  "path-not-found": "changed",
  "path-outside": "not-a-file",
  "path-special": "not-a-file",
  "permission-denied": "failed",
  "tool-failed": "failed",
};
