/** What the plugin writes into the log: what files were before a call, and what they are after it. */

import type { Fact, Json } from "@capstan/core";
import { recorded } from "../own-facts.ts";
import { forget, recall, remember, type Remembered } from "../remembered.ts";

export const PLUGIN_NAME = "checkpoints";

/** A larger file is not kept. */
export const FILE_BYTES: number = 16 * 1024 * 1024;
/** Content that one session keeps; what comes after that is noted, not kept. */
export const SESSION_BYTES: number = 512 * 1024 * 1024;
/** Files of one call that are kept. */
export const CALL_FILES = 256;
/** Calls under way at once whose notes are at hand when they run again after a crash. */
const PENDING_CALLS = 256;

/** `path` is relative to the root and has no links in it. */
export type FileBefore =
  | { readonly path: string; readonly was: "kept"; readonly blob: string; readonly size: number }
  /** Protected, with a known secret in it, or there was no room for it any more. */
  | { readonly path: string; readonly was: "not-kept"; readonly sha256: string }
  /** `special`: a folder, or no regular file. `unclear`: too large, or not to be looked at. */
  | { readonly path: string; readonly was: "absent" | "special" | "unclear" };
/** `replaced`: what the call itself says that it replaced, where that is not what was kept. */
export type FileAfter = { readonly path: string; readonly replaced?: string } & (
  | { readonly is: "file"; readonly sha256: string }
  | { readonly is: "absent" | "special" | "unclear" }
);
export type Checkpoint =
  | { readonly type: "before"; readonly callId: string; readonly files: readonly FileBefore[] }
  | { readonly type: "after"; readonly callId: string; readonly files: readonly FileAfter[] };

/** Of a call that has not ended. `records`: facts that its hook wrote so far. */
export type Pending = { readonly records: number; readonly files: readonly FileBefore[]; readonly isOver: boolean };
/** `bytes`: content that was kept. */
export type Own = { readonly bytes: number; readonly pending: Remembered<Pending> };
export const START: Own = { bytes: 0, pending: [] };

export function nextOwn(own: Own, fact: Fact): Own {
  if (fact.type === "tool.finished") {
    const pending = forget(own.pending, fact.callId);
    return pending === own.pending ? own : { ...own, pending };
  }
  const checkpoint = checkpointOf(fact);
  if (checkpoint === undefined) return own;
  const { callId } = checkpoint;
  const { records, files } = recall(own.pending, callId) ?? { records: 0, files: [] };
  const isOver = checkpoint.type === "after";
  const next: Pending = { records: records + 1, files: isOver ? files : checkpoint.files, isOver };
  const bytes = own.bytes + (isOver ? 0 : sizeOf(checkpoint.files));
  return { bytes, pending: remember(own.pending, callId, next, PENDING_CALLS) };
}

/** What the plugin recorded with this fact; nothing when it is not of its kind. */
export function checkpointOf(fact: Fact): Checkpoint | undefined {
  const data = recorded<Partial<Checkpoint> | null>(fact, PLUGIN_NAME);
  if (data === undefined || data === null || (data.type !== "before" && data.type !== "after")) return undefined;
  const { callId, files } = data;
  if (typeof callId !== "string" || !Array.isArray(files)) return undefined;
  return files.every((file: unknown) => isNamed(file)) ? (data as Checkpoint) : undefined;
}

function isNamed(file: unknown): boolean {
  return typeof file === "object" && file !== null && "path" in file && typeof file.path === "string";
}

/** As `record` takes it. */
export function toData(checkpoint: Checkpoint): Json {
  return checkpoint as unknown as Json; // plain data
}

function sizeOf(files: readonly FileBefore[]): number {
  return files.reduce((sum, file) => sum + (file.was === "kept" ? file.size : 0), 0);
}
