/**
 * Opens first, decides on the descriptor, acts through the descriptor: a name is never trusted twice.
 * A hard link cannot be told from the file itself; whoever may link a file into the root may read it anyway.
 */

import { constants, existsSync, type BigIntStats } from "node:fs";
import { lstat, open, readlink, realpath, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { CapstanError } from "@capstan/core";
import {
  checkName,
  isInside,
  nameIn,
  outside,
  quote,
  resolveIn,
  special,
  systemCode,
  toPathError,
  type Root,
} from "./paths.ts";

/** How a platform pins an object and says where it is. */
export type Descriptors = {
  /** Opens without any effect on special files. Follows links. */
  pin(path: string): Promise<FileHandle>;
  /** Real path of the opened object now. */
  whereIs(handle: FileHandle, path: string): Promise<string>;
  /** A path that leads to the opened object. */
  again(handle: FileHandle, real: string): string;
};

/** An object found inside the root. The one who opened it closes `handle`. */
export type Opened = {
  readonly handle: FileHandle;
  /** Real absolute path at the time of the check. */
  readonly path: string;
  readonly info: BigIntStats;
  /** A path that leads to this object, or with a name to an entry of this folder. */
  at(entry?: string): string;
};

/** Linux value of the flag; Node does not name it. Opening with it touches nothing: no FIFO waits, no device starts. */
const O_PATH = 0o10000000;

/** By number, not `self`: a child that is about to start has other descriptors already. */
const OWN_DESCRIPTORS = `/proc/${process.pid}/fd/`;

/** Linux: the kernel says where the descriptor leads. */
export const procDescriptors: Descriptors = {
  pin: (path) => open(path, O_PATH),
  whereIs: (handle) => readlink(OWN_DESCRIPTORS + handle.fd),
  again: (handle) => OWN_DESCRIPTORS + handle.fd,
};

/**
 * Elsewhere: the real path is opened without following links and compared with what stands there. What is then opened
 * below it by name is compared again; a write can only be checked before and after, a small window stays.
 */
export const portableDescriptors: Descriptors = {
  async pin(path) {
    const real = await realpath(path);
    const before = await lstat(real, { bigint: true });
    if (!before.isFile() && !before.isDirectory()) throw special(path, kindOf(before));
    return open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY);
  },
  async whereIs(handle, path) {
    const real = await realpath(path);
    const [there, here] = await Promise.all([lstat(real, { bigint: true }), handle.stat({ bigint: true })]);
    if (!sameObject(there, here)) throw outside(path); // swapped between the two looks
    return real;
  },
  again: (_handle, real) => real,
};

export function platformDescriptors(): Descriptors {
  return process.platform === "linux" && existsSync("/proc/self/fd") ? procDescriptors : portableDescriptors;
}

/**
 * Opens a name as a model wrote it. Throws `path-invalid`, `path-not-found`, `path-outside`, `path-special`,
 * `permission-denied`, and `workspace-missing` when the root is gone. `exact`: the name must be the real path.
 */
export async function openInside(
  descriptors: Descriptors,
  root: Root,
  path: string,
  options: { readonly exact?: boolean } = {},
): Promise<Opened> {
  checkName(path);
  const absolute = resolveIn(root, path);
  const opened = await openNamed(descriptors, root, absolute, path);
  if (options.exact === true && opened.path !== absolute) {
    await opened.handle.close();
    throw new CapstanError(
      "path-invalid",
      `${quote(path)} is another name of ${quote(nameIn(root, opened.path))}. Use that path, so that permission is decided on it`,
    );
  }
  return opened;
}

/** Opens an absolute path a model named: what lies outside is answered alike whether something is there or not. */
export async function openNamed(
  descriptors: Descriptors,
  root: Root,
  absolute: string,
  shown: string,
): Promise<Opened> {
  try {
    return await openAbsolute(descriptors, root, absolute, shown);
  } catch (error) {
    throw isInside(root.path, absolute) ? error : outside(shown);
  }
}

/** Opens a path that was made here, such as an entry of an opened folder; `shown` stands in messages. */
export async function openAbsolute(
  descriptors: Descriptors,
  root: Root,
  absolute: string,
  shown: string,
): Promise<Opened> {
  let handle: FileHandle | undefined;
  try {
    handle = await descriptors.pin(absolute);
    const real = await descriptors.whereIs(handle, absolute);
    if (!isInside(root.path, real)) throw outside(shown);
    const info = await handle.stat({ bigint: true });
    if (!info.isFile() && !info.isDirectory()) throw special(shown, kindOf(info));
    return openedAs(descriptors, handle, real, info);
  } catch (error) {
    await handle?.close();
    throw await explain(error, root, shown);
  }
}

export function kindOf(info: BigIntStats): string {
  if (info.isFIFO()) return "a named pipe";
  if (info.isSocket()) return "a socket";
  if (info.isSymbolicLink()) return "a symbolic link";
  if (info.isDirectory()) return "a folder";
  return info.isFile() ? "a file" : "a device";
}

export function sameObject(left: BigIntStats, right: BigIntStats): boolean {
  return left.dev === right.dev && left.ino === right.ino;
}

function openedAs(descriptors: Descriptors, handle: FileHandle, path: string, info: BigIntStats): Opened {
  return {
    handle,
    path,
    info,
    at(entry) {
      const self = descriptors.again(handle, path);
      return entry === undefined ? self : join(self, entry);
    },
  };
}

async function explain(error: unknown, root: Root, shown: string): Promise<unknown> {
  if (systemCode(error) === "ENOENT") {
    try {
      await lstat(root.path);
    } catch {
      return new CapstanError("workspace-missing", `The workspace folder ${quote(root.path)} is gone`, {
        cause: error,
      });
    }
  }
  return toPathError(error, shown);
}
