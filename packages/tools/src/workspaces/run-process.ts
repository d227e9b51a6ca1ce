/** Runs one program to its end: output kept within bounds, a deadline, an abort, and nothing of it left behind. */

import { spawn, type ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { CapstanError, messageOf, type Clock, type RunOptions, type RunOutcome } from "@capstan/core";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { childEnv } from "./child-env.ts";
import { outputWindow, type OutputWindow } from "./output-window.ts";
import { awaitEnd, endProcesses, findProcesses, type Found } from "./process-group.ts";
import { openRunPipes } from "./run-pipes.ts";
import { newTag, startOf, TAG_VARIABLE, tagValue } from "./run-tag.ts";

/** Where to run: `cwd` is any path the system opens, `realCwd` what the program is told. */
export type Folder = { readonly cwd: string; readonly realCwd: string };

type End = { readonly exitCode: number | null; readonly exitSignal: string | null };
type Stop = "timeout" | "abort";

/** Settles after everything the program started has ended. Throws `process-failed` when it cannot start. */
export async function runProcess(
  argv: readonly string[],
  { cwd, realCwd }: Folder,
  options: RunOptions,
  clock: Clock,
): Promise<RunOutcome> {
  const tag = newTag();
  const startedAt = clock.monotonic();
  const [program = "", ...rest] = argv;
  const fixed = { PWD: realCwd, [TAG_VARIABLE]: tagValue(tag, process.env[TAG_VARIABLE]) };
  const env = childEnv(process.env, options.env ?? {}, fixed);
  const pipes = await openRunPipes(tag, options.input !== undefined);
  let child: ChildProcess;
  try {
    child = spawn(program, rest, { cwd, env, detached: true, stdio: pipes.stdio, windowsHide: true });
  } catch (error) {
    pipes.discard();
    throw cannotStart(program, error);
  } finally {
    pipes.release();
  }
  const { stdout, stderr } = pipes.streams(child);
  const ended = endOf(child, program);
  const out = collect(stdout, "stdout", options);
  const err = collect(stderr, "stderr", options);
  child.stdin?.on("error", () => {}).end(options.input); // a program may close its input before it has read it
  const { pid } = child;
  const since = pid === undefined ? undefined : startOf(pid);
  const find = (): readonly Found[] => (pid === undefined ? [] : findProcesses({ tag, group: pid, since }));
  const { end, stoppedBy, leftover } = await supervise({
    ended,
    streams: [out, err],
    find,
    stop: stopper(options, clock),
    clock,
  });
  return {
    ...end,
    killedBy: stoppedBy,
    stdout: out.window.text(),
    stderr: err.window.text(),
    truncated: out.window.truncated || err.window.truncated,
    durationMs: Math.round(clock.monotonic() - startedAt),
    ...(leftover > 0 && { leftover }),
  };
}

type Supervised = {
  readonly ended: Promise<End>;
  readonly streams: readonly Collected[];
  readonly find: () => readonly Found[];
  readonly stop: Stopper;
  readonly clock: Clock;
};

async function supervise({ ended, streams, find, stop, clock }: Supervised) {
  try {
    const failed = Promise.race(streams.map((stream) => stream.failed));
    const first = await Promise.race([ended, stop.wanted, failed]);
    let leftover = 0;
    if (typeof first === "string") {
      await endProcesses(find, clock);
    } else {
      const left = await awaitEnd(find, TOOL_LIMITS.settleMs, clock);
      if (left.length > 0) leftover = await endProcesses(find, clock);
    }
    const end = typeof first === "string" ? await within(ended, TOOL_LIMITS.drainMs, clock) : first;
    await within(Promise.all(streams.map((stream) => stream.closed)), TOOL_LIMITS.drainMs, clock);
    return {
      end: end ?? { exitCode: null, exitSignal: null },
      stoppedBy: typeof first === "string" ? first : null,
      leftover,
    };
  } catch (error) {
    await endProcesses(find, clock);
    throw error;
  } finally {
    stop.dispose();
    for (const { stream } of streams) stream.destroy();
  }
}

type Stopper = { readonly wanted: Promise<Stop>; dispose(): void };

function stopper({ timeoutMs, signal }: RunOptions, clock: Clock): Stopper {
  const { promise: wanted, resolve: now } = Promise.withResolvers<Stop>();
  const onAbort = (): void => now("abort");
  const cancel = clock.after(timeoutMs, () => now("timeout"));
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return {
    wanted,
    dispose() {
      cancel();
      signal.removeEventListener("abort", onAbort);
    },
  };
}

type Collected = {
  readonly stream: Readable;
  readonly window: OutputWindow;
  readonly closed: Promise<void>;
  /** Rejects when `onOutput` throws; never resolves. */
  readonly failed: Promise<never>;
};

function collect(stream: Readable, name: "stdout" | "stderr", { maxOutputBytes, onOutput }: RunOptions): Collected {
  const window = outputWindow(maxOutputBytes);
  const closed = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // seen by the one who races it, as long as the run goes on
  stream.on("error", () => stream.destroy()); // what was read stays
  stream.on("close", () => closed.resolve());
  stream.on("data", (chunk: Uint8Array) => {
    const text = window.push(chunk);
    if (text === "" || onOutput === undefined) return;
    try {
      onOutput(name, text);
    } catch (error) {
      failed.reject(error);
      stream.removeAllListeners("data").resume();
    }
  });
  return { stream, window, closed: closed.promise, failed: failed.promise };
}

function endOf(child: ChildProcess, program: string): Promise<End> {
  const { promise, resolve, reject } = Promise.withResolvers<End>();
  child.on("error", (error) => reject(cannotStart(program, error)));
  child.on("exit", (exitCode, exitSignal) => resolve({ exitCode, exitSignal }));
  promise.catch(() => {}); // a stop may be waited for first
  return promise;
}

function cannotStart(program: string, error: unknown): CapstanError {
  return new CapstanError("process-failed", `${JSON.stringify(program)} could not be started: ${messageOf(error)}`, {
    cause: error,
  });
}

/** The value, or undefined when it takes longer than `ms`. */
async function within<T>(promise: Promise<T>, ms: number, clock: Clock): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(ms, () => resolve(undefined));
  try {
    return await Promise.race([promise, late]);
  } finally {
    cancel();
  }
}
