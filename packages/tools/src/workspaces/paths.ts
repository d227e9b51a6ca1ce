/** Paths as text: how a model's name becomes an absolute one, and what a failed system call means. Opens nothing. */

import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { CapstanError } from "@capstan/core";
import { TOOL_LIMITS } from "../tool-limits.ts";

export type Root = {
  /** Real path of the root. */
  readonly path: string;
  /** The root as it was given, absolute: names below it mean the same files. */
  readonly alias: string;
};

/** Absolute path of a name as a model wrote it. Never throws. */
export function resolveIn(root: Root, path: string): string {
  if (isAbsolute(path)) {
    const absolute = resolve(path);
    return !isInside(root.path, absolute) && isInside(root.alias, absolute)
      ? join(root.path, relative(root.alias, absolute))
      : absolute;
  }
  return resolve(root.path, path);
}

/** Whether an absolute path is the folder or lies in it, by whole names: `/a/proj-evil` is not in `/a/proj`. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** The name a workspace reports: relative to the root, `.` for the root itself. */
export function nameIn(root: Root, absolute: string): string {
  const name = relative(root.path, absolute);
  return name === "" ? "." : name.replaceAll(sep, "/");
}

/** Throws `path-invalid` for a name no file can have. */
export function checkName(path: string): void {
  const problem =
    path === ""
      ? "is empty"
      : path.includes("\0")
        ? "contains a NUL character"
        : !path.isWellFormed()
          ? "contains half of a character"
          : path.length > TOOL_LIMITS.pathCharacters
            ? `is longer than ${TOOL_LIMITS.pathCharacters} characters`
            : undefined;
  if (problem !== undefined) throw new CapstanError("path-invalid", `The path ${quote(path)} ${problem}`);
}

/** A name as it may stand in a message: quoted, control characters escaped, cut at 200 characters. */
export function quote(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}

export function outside(path: string): CapstanError {
  return new CapstanError(
    "path-outside",
    `${quote(path)} leads outside the workspace. Use a path inside it, relative to its root`,
  );
}

export function special(path: string, what: string): CapstanError {
  return new CapstanError("path-special", `${quote(path)} is ${what}, not a regular file`);
}

/** What a failed system call on `path` means. An abort and a `CapstanError` pass unchanged. */
export function toPathError(error: unknown, path: string): unknown {
  if (CapstanError.is(error)) return error;
  const code = systemCode(error);
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return new CapstanError("path-not-found", `There is no ${quote(path)}. List the folder to see what is there`, {
        cause: error,
      });
    case "EISDIR":
      return special(path, "a folder");
    case "ENXIO":
    case "ENODEV":
      return special(path, "a special file");
    case "ELOOP":
      return special(path, "a chain of too many symbolic links");
    case "ENAMETOOLONG":
      return new CapstanError("path-invalid", `${quote(path)} has a name that is too long for a file`, {
        cause: error,
      });
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new CapstanError("permission-denied", `The operating system does not allow this on ${quote(path)}`, {
        cause: error,
      });
    case "ENOSPC":
    case "EDQUOT":
      return new CapstanError("tool-failed", `There is no space left for ${quote(path)}. Tell the user`, {
        cause: error,
      });
    case undefined:
      return error;
    default:
      return new CapstanError("tool-failed", `${quote(path)}: the system answered ${code}`, { cause: error });
  }
}

/** `ENOENT` and the like; undefined for what is no error of a system call. */
export function systemCode(error: unknown): string | undefined {
  const code = error instanceof Error && "syscall" in error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === "string" ? code : undefined;
}
