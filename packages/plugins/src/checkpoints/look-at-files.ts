/** The files of a call by the one name each has, what they hold now, and keeping that as blobs. */

import { isAbsolute, relative, sep } from "node:path";
import {
  CapstanError,
  type DiffPart,
  type Engine,
  isProtectedPath,
  type Redactor,
  sha256,
  type ToolOutput,
  type Workspace,
} from "@capstan/core";
import { CALL_FILES, FILE_BYTES, type FileAfter, type FileBefore, SESSION_BYTES } from "./checkpoint-facts.ts";

/** `special`: a folder, or no regular file. `unclear`: a link, outside, too large, or not to be read. */
export type Now =
  | { readonly type: "file"; readonly sha256: string; readonly bytes: Uint8Array }
  | { readonly type: "absent" | "special" | "unclear" };

/** Never throws for what is wrong with the path. It is not followed when it is a link now. */
export async function fileNow(workspace: Workspace, path: string, signal?: AbortSignal): Promise<Now> {
  try {
    const options = { maxBytes: FILE_BYTES, exact: true, ...(signal !== undefined && { signal }) };
    const { bytes, hash } = await workspace.read(path, options);
    return { type: "file", sha256: hash, bytes };
  } catch (error) {
    signal?.throwIfAborted();
    if (!CapstanError.is(error)) throw error;
    switch (error.code) {
      case "path-not-found":
        return { type: "absent" };
      case "path-special":
        return { type: "special" };
      default:
        return { type: "unclear" };
    }
  }
}

/** Names as a call wrote them, as links lead: relative to the root, each once. What lies outside is left out. */
export async function realNames(workspace: Workspace, paths: readonly string[]): Promise<readonly string[]> {
  const written = paths.slice(0, CALL_FILES).map((path) => workspace.resolve(path));
  const real = (await workspace.realPaths?.(written)) ?? written;
  return [...new Set(written.flatMap((path, index) => nameIn(workspace.root, real[index] ?? path)))];
}

function nameIn(root: string, path: string): readonly string[] {
  const name = relative(root, path);
  const isOutside = name === "" || isAbsolute(name) || name === ".." || name.startsWith(`..${sep}`);
  return isOutside ? [] : [name.replaceAll(sep, "/")];
}

type Keeping = {
  readonly workspace: Workspace;
  /** Undefined where nothing can be kept. */
  readonly keeper: { readonly engine: Pick<Engine, "putBlob">; readonly redactor: Redactor } | undefined;
  /** That were kept so far in the session. */
  readonly bytes: number;
  readonly signal: AbortSignal;
};

/** Keeps what the files hold, one after the other, as far as there is room and no known secret in it. Throws as `putBlob`. */
export async function keepFiles(names: readonly string[], keeping: Keeping): Promise<readonly FileBefore[]> {
  const { workspace, keeper, signal } = keeping;
  const kept: FileBefore[] = [];
  let total = keeping.bytes;
  for (const path of names) {
    const now = await fileNow(workspace, path, signal);
    if (now.type !== "file") kept.push({ path, was: now.type });
    else if (
      keeper === undefined ||
      total + now.bytes.length > SESSION_BYTES ||
      isProtectedPath(path, workspace.root) ||
      holdsSecret(keeper.redactor, now.bytes)
    )
      kept.push({ path, was: "not-kept", sha256: now.sha256 });
    else {
      total += now.bytes.length;
      kept.push({ path, was: "kept", blob: await keeper.engine.putBlob(now.bytes), size: now.bytes.length });
    }
  }
  return kept;
}

function holdsSecret(redactor: Redactor, bytes: Uint8Array): boolean {
  const text = new TextDecoder().decode(bytes);
  return redactor.text(text) !== text;
}

/** What the files are once the call is over. `isSure`: nothing but the call came between. */
export async function filesAfter(
  before: readonly FileBefore[],
  {
    workspace,
    output,
    isSure,
  }: { readonly workspace: Workspace; readonly output: ToolOutput; readonly isSure: boolean },
): Promise<readonly FileAfter[]> {
  const diffs = output.content.filter((part) => part.type === "diff");
  return Promise.all(
    before.map(async (file): Promise<FileAfter> => {
      const { path } = file;
      if (!isSure) return { path, is: "unclear" };
      const now = await fileNow(workspace, path);
      const other = replacedBy(diffs, file);
      const replaced = other === undefined ? {} : { replaced: other };
      return now.type === "file"
        ? { path, is: "file", sha256: now.sha256, ...replaced }
        : { path, is: now.type, ...replaced };
    }),
  );
}

/** Diffs show texts up to this size whole. */
const WHOLE_TEXT = 65_536;

/** Hash of what a diff of the file began with, where that is whole and another content than was kept. */
function replacedBy(diffs: readonly DiffPart[], file: FileBefore): string | undefined {
  const diff = diffs.find(({ path }) => path === file.path);
  if (diff?.before === undefined || diff.before.includes("\uFFFD")) return undefined; // bytes that are no text
  const sha = sha256(diff.before);
  if (file.was === "kept") return file.size <= WHOLE_TEXT && sha !== file.blob ? sha : undefined;
  return file.was === "absent" ? sha : undefined;
}
