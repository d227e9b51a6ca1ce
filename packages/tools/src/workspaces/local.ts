/** A folder of this machine as a workspace. Programs run as the user: nothing confines them but what permission allows. */

import { constants } from "node:fs";
import { lstat, open, opendir, realpath, stat, type FileHandle } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CapstanError, sha256, systemClock } from "@capstan/core";
import type {
  Clock,
  FileContent,
  FileInfo,
  ReadOptions,
  RunOptions,
  RunOutcome,
  Workspace,
  WriteOptions,
} from "@capstan/core";
import { TOOL_LIMITS } from "../tool-limits.ts";
import type { Confiner, Gateway, GatewayGrant } from "./confiner.ts";
import {
  openAbsolute,
  openInside,
  platformDescriptors,
  sameObject,
  type Descriptors,
  type Opened,
} from "./open-inside.ts";
import { isInside, nameIn, outside, quote, resolveIn, special, systemCode, toPathError, type Root } from "./paths.ts";
import { realPathsIn } from "./real-path.ts";
import { removeFile, type RemoveOptions } from "./remove-file.ts";
import { replaceFile } from "./replace-file.ts";
import { runProcess } from "./run-process.ts";
import { unavailable } from "./sandbox-rules.ts";

export { endLeftovers } from "./process-group.ts";

export type LocalOptions = {
  readonly clock?: Clock;
  /** How files are pinned; the platform's way unless a test wants the other. */
  readonly descriptors?: Descriptors;
  /** What programs run in; closed with the workspace. */
  readonly confine?: (root: string) => Promise<Confiner | undefined>;
  /** What programs may use outside, such as `broker()`. */
  readonly gateway?: Gateway;
};

/** Opens a folder. The caller closes it. Throws `workspace-missing` when there is no such folder. */
export async function localWorkspace(root: string, options: LocalOptions = {}): Promise<Workspace> {
  const real = await realRoot(root);
  const confiner = await options.confine?.(real.path);
  const { descriptors = platformDescriptors(), clock = systemClock, gateway } = options;
  if (gateway !== undefined && confiner !== undefined && confiner.takesGateway !== true) {
    await confiner.close();
    throw unavailable(confiner.confinement, "programs inside cannot reach a broker; use bwrap()");
  }
  return new LocalWorkspace({ real, descriptors, clock, confiner, gateway });
}

async function realRoot(root: string): Promise<Root> {
  try {
    const path = await realpath(root);
    if ((await stat(path)).isDirectory()) return { path, alias: resolve(root) };
  } catch (cause) {
    throw new CapstanError("workspace-missing", `There is no folder ${quote(root)} on this machine`, { cause });
  }
  throw new CapstanError("workspace-missing", `${quote(root)} is not a folder`);
}

type Parts = {
  readonly real: Root;
  readonly descriptors: Descriptors;
  readonly clock: Clock;
  readonly confiner: Confiner | undefined;
  readonly gateway: Gateway | undefined;
};

class LocalWorkspace implements Workspace {
  readonly kind = "local";
  readonly confinement: string;
  readonly root: string;
  readonly #root: Root;
  readonly #descriptors: Descriptors;
  readonly #clock: Clock;
  readonly #confiner: Confiner | undefined;
  readonly #gateway: Gateway | undefined;
  readonly #running = new Set<Promise<RunOutcome>>();
  readonly #closing = new AbortController();

  constructor({ real, descriptors, clock, confiner, gateway }: Parts) {
    this.root = real.path;
    this.confinement = confiner?.confinement ?? "none";
    this.#confiner = confiner;
    this.#gateway = gateway;
    this.#root = real;
    this.#descriptors = descriptors;
    this.#clock = clock;
  }

  resolve(path: string): string {
    return resolveIn(this.#root, path);
  }

  async realPaths(paths: readonly string[]): Promise<readonly (string | undefined)[]> {
    return realPathsIn(this.root, paths);
  }

  async stat(path: string): Promise<FileInfo> {
    this.#checkOpen();
    const opened = await openInside(this.#descriptors, this.#root, path);
    await opened.handle.close();
    return this.#infoOf(opened);
  }

  async read(path: string, options: ReadOptions = {}): Promise<FileContent> {
    this.#checkOpen();
    options.signal?.throwIfAborted();
    const opened = await openInside(this.#descriptors, this.#root, path, options);
    try {
      if (!opened.info.isFile()) throw special(path, "a folder");
      const maxBytes = options.maxBytes ?? TOOL_LIMITS.workspaceReadBytes;
      const bytes = await readBytes(opened, path, maxBytes, options);
      return { ...this.#infoOf(opened), bytes, hash: sha256(bytes) };
    } catch (error) {
      throw toPathError(error, path);
    } finally {
      await opened.handle.close();
    }
  }

  async write(path: string, bytes: Uint8Array, options: WriteOptions = {}): Promise<FileInfo> {
    this.#checkOpen();
    return this.#infoOf(await replaceFile(this.#descriptors, this.#root, path, bytes, options));
  }

  /** Beyond the port: what goes back to an earlier state removes what was not there. As `removeFile`. */
  async remove(path: string, options: RemoveOptions): Promise<void> {
    this.#checkOpen();
    await removeFile(this.#descriptors, this.#root, path, options);
  }

  async list(
    path: string,
    options: { readonly exact?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<readonly FileInfo[]> {
    this.#checkOpen();
    options.signal?.throwIfAborted();
    const folder = await openInside(this.#descriptors, this.#root, path, options);
    try {
      if (!folder.info.isDirectory()) throw new CapstanError("path-special", `${quote(path)} is a file, not a folder`);
      const entries: FileInfo[] = [];
      for await (const { name } of await opendir(folder.at())) {
        options.signal?.throwIfAborted();
        if (entries.length === TOOL_LIMITS.folderEntries) throw tooManyEntries(path);
        entries.push(await this.#entryOf(folder, name));
      }
      if (!isInside(this.root, await this.#descriptors.whereIs(folder.handle, folder.path))) throw outside(path);
      return entries.toSorted((left, right) => (left.path < right.path ? -1 : 1));
    } catch (error) {
      throw toPathError(error, path);
    } finally {
      await folder.handle.close();
    }
  }

  async run(argv: readonly string[], options: RunOptions): Promise<RunOutcome> {
    this.#checkOpen();
    options.signal.throwIfAborted();
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    const running = this.#runIn(options.cwd ?? ".", argv, { ...options, signal });
    this.#running.add(running);
    try {
      const outcome = await running;
      if (outcome.killedBy === "abort" && !options.signal.aborted)
        throw new CapstanError("aborted", "The workspace was closed");
      return outcome;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Ends what still runs and waits for it. */
  async close(): Promise<void> {
    this.#closing.abort(new CapstanError("aborted", "The workspace was closed"));
    await Promise.allSettled(this.#running);
    await this.#confiner?.close();
  }

  async #runIn(cwd: string, argv: readonly string[], options: RunOptions): Promise<RunOutcome> {
    const folder = await openInside(this.#descriptors, this.#root, cwd);
    let granted: GatewayGrant | undefined;
    try {
      if (!folder.info.isDirectory()) throw new CapstanError("path-special", `${quote(cwd)} is a file, not a folder`);
      granted = await this.#gateway?.grant();
      const started = { cwd: folder.at(), realCwd: folder.path };
      if (this.#confiner !== undefined)
        return await this.#runConfined(this.#confiner, argv, { cwd: folder.path, gateway: granted }, options);
      const env = { ...options.env, ...granted?.env() };
      return await runProcess(argv, started, { ...options, env }, this.#clock);
    } finally {
      granted?.end();
      await folder.handle.close();
    }
  }

  /** The wrapper itself stands in the root folder of the system; the program is put into its own by name, inside. */
  async #runConfined(
    confiner: Confiner,
    argv: readonly string[],
    { cwd, gateway }: { readonly cwd: string; readonly gateway: GatewayGrant | undefined },
    options: RunOptions,
  ): Promise<RunOutcome> {
    if (argv.some((word) => word.includes("\0")))
      throw new CapstanError("process-failed", "A word holds a NUL character");
    const { env, input } = options;
    const place = { cwd, ...(env && { env }), ...(input !== undefined && { input }), ...(gateway && { gateway }) };
    const confined = await confiner.begin(argv, place);
    let stopped = true;
    try {
      const outcome = await runProcess(argv, { cwd: "/", realCwd: cwd }, options, this.#clock, confined);
      stopped = outcome.killedBy !== null;
      return outcome;
    } finally {
      await confined.end(stopped);
    }
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw new CapstanError("closed", "This workspace is closed. Open it again");
  }

  #infoOf({ path, info }: Pick<Opened, "path" | "info">): FileInfo {
    return {
      path: nameIn(this.#root, path),
      type: info.isFile() ? "file" : info.isDirectory() ? "folder" : "other",
      size: Number(info.size),
      modifiedAt: Number(info.mtimeMs),
    };
  }

  /** A link counts as what it leads to, when that lies inside; else, and when it cannot be looked at, as `other`. */
  async #entryOf(folder: Opened, name: string): Promise<FileInfo> {
    const path = join(folder.path, name);
    try {
      const info = await lstat(folder.at(name), { bigint: true });
      if (!info.isSymbolicLink()) return this.#infoOf({ path, info });
      const target = await openAbsolute(this.#descriptors, this.#root, folder.at(name), name);
      await target.handle.close();
      return this.#infoOf({ path, info: target.info });
    } catch (error) {
      if (!CapstanError.is(error) && systemCode(error) === undefined) throw error;
      return { path: nameIn(this.#root, path), type: "other", size: 0, modifiedAt: 0 };
    }
  }
}

async function readBytes(opened: Opened, shown: string, maxBytes: number, options: ReadOptions): Promise<Uint8Array> {
  if (opened.info.size > BigInt(maxBytes) && options.truncate !== true)
    throw tooLarge(shown, Number(opened.info.size), maxBytes);
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  const file = await open(opened.at(), flags);
  try {
    if (!sameObject(await file.stat({ bigint: true }), opened.info)) throw outside(shown); // swapped, where names are all there is
    return await readUpTo(file, shown, maxBytes, options);
  } finally {
    await file.close();
  }
}

/** A file may grow while it is read: the bound is kept on what was read, not on the size it had. */
async function readUpTo(file: FileHandle, shown: string, maxBytes: number, options: ReadOptions): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for (let total = 0; ;) {
    options.signal?.throwIfAborted();
    const { size } = await file.stat();
    const chunk = Buffer.allocUnsafe(Math.min(Math.max(size - total, 0) + 1, maxBytes - total + 1, 4 * 1024 * 1024));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, total);
    if (bytesRead === 0) return Buffer.concat(chunks);
    total += bytesRead;
    if (total > maxBytes) {
      if (options.truncate !== true) throw tooLarge(shown, total, maxBytes);
      chunks.push(chunk.subarray(0, bytesRead - (total - maxBytes)));
      return Buffer.concat(chunks);
    }
    chunks.push(chunk.subarray(0, bytesRead));
  }
}

function tooLarge(shown: string, size: number, maxBytes: number): CapstanError {
  const message = `${quote(shown)} has ${size.toLocaleString("en-US")} bytes; at most ${maxBytes.toLocaleString("en-US")} are read`;
  return new CapstanError("file-too-large", message);
}

function tooManyEntries(shown: string): CapstanError {
  const most = TOOL_LIMITS.folderEntries.toLocaleString("en-US");
  return new CapstanError("file-too-large", `The folder ${quote(shown)} has more than ${most} entries`);
}
