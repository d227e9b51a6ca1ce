/**
 * The descriptors of one run: output pipes and the mark. Node gives children sockets, on which `> /dev/stderr` and
 * `tee /dev/stdout` fail; named pipes made by `mkfifo` and unlinked at once are pipes proper.
 */

import { execFile, type ChildProcess, type StdioOptions } from "node:child_process";
import { closeSync, constants, existsSync, mkdirSync, openSync, rmSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { MARK_DESCRIPTOR, RUN_FOLDER, STATUS_DESCRIPTOR } from "./run-tag.ts";

export type RunPipes = {
  readonly stdio: StdioOptions;
  /** The output streams, once the child was started. */
  streams(child: ChildProcess): { readonly stdout: Readable; readonly stderr: Readable };
  /** Closes this process's copies of what the child got. Called once, after the start or when it failed. */
  release(): void;
  /** Closes the output when there will be no child. */
  discard(): void;
};

const MKFIFO = ["/usr/bin/mkfifo", "/bin/mkfifo"].find((path) => existsSync(path));

/** Opens what a run needs. Without `mkfifo`, or when it fails, the child gets Node's own pipes and no mark. */
export async function openRunPipes(
  tag: string,
  { withInput, withStatus }: { readonly withInput: boolean; readonly withStatus: boolean },
): Promise<RunPipes> {
  const input = withInput ? "pipe" : "ignore";
  const status = withStatus ? "pipe" : "ignore";
  const named = MKFIFO === undefined ? undefined : await openNamed(MKFIFO, tag);
  if (named === undefined) {
    return {
      stdio: [input, "pipe", "pipe", ...unused(3, STATUS_DESCRIPTOR), status],
      streams: ({ stdout, stderr }) => ({ stdout: stdout ?? new Socket(), stderr: stderr ?? new Socket() }),
      release: () => {},
      discard: () => {},
    };
  }
  const { stdout, stderr, mark } = named;
  return {
    stdio: [
      input,
      stdout.write,
      stderr.write,
      ...unused(3, STATUS_DESCRIPTOR),
      status,
      ...unused(STATUS_DESCRIPTOR + 1, MARK_DESCRIPTOR),
      mark,
    ],
    streams: () => ({ stdout: readerOf(stdout), stderr: readerOf(stderr) }),
    release() {
      for (const descriptor of [stdout.write, stderr.write, mark]) closeSync(descriptor);
    },
    discard() {
      for (const { read } of [stdout, stderr]) closeSync(read);
    },
  };
}

/** Descriptors from `first` up to `next`, which the child does not get. */
function unused(first: number, next: number): readonly "ignore"[] {
  return Array.from({ length: next - first }, () => "ignore" as const);
}

type Ends = { readonly read: number; readonly write: number };

async function openNamed(mkfifo: string, tag: string) {
  const folder = join(tmpdir(), `${RUN_FOLDER}${tag}`);
  const opened: number[] = [];
  const openOne = (path: string, flags: number): number => {
    const descriptor = openSync(path, flags, 0o600);
    opened.push(descriptor);
    return descriptor;
  };
  try {
    mkdirSync(folder, { mode: 0o700 });
    const paths = [join(folder, "out"), join(folder, "err")];
    await makePipes(mkfifo, paths);
    const [stdout, stderr] = paths.map((path): Ends => {
      const read = openOne(path, constants.O_RDONLY | constants.O_NONBLOCK); // the reader first: then no open waits
      const write = openOne(path, constants.O_WRONLY | constants.O_NONBLOCK);
      unlinkSync(path);
      return { read, write };
    });
    const mark = openOne(join(folder, "mark"), constants.O_CREAT | constants.O_EXCL | constants.O_RDONLY);
    return stdout === undefined || stderr === undefined ? undefined : { stdout, stderr, mark };
  } catch {
    for (const descriptor of opened) closeSync(descriptor);
    return undefined; // a folder for temporary files that knows no pipes: not worth failing the command for
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function makePipes(mkfifo: string, paths: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(mkfifo, ["-m", "600", "--", ...paths], { env: {} }, (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}

function readerOf({ read }: Ends): Readable {
  return new Socket({ fd: read, readable: true, writable: false });
}
