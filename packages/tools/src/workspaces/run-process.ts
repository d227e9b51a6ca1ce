/** Runs one program to its end: output kept within bounds, a deadline, an abort, and nothing of it left behind. */

import { spawn, type ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { CapstanError, messageOf, type Clock, type RunOptions, type RunOutcome } from "@capstan/core";
import { TOOL_LIMITS } from "../tool-limits.ts";
import { childEnv } from "./child-env.ts";
import type { Confined, ConfinedStart } from "./confiner.ts";
import { confinedEnd, shimReport, statusStream } from "./shim.ts";
import { outputWindow, type OutputWindow } from "./output-window.ts";
import { awaitEnd, endProcesses, findProcesses, type Found } from "./process-group.ts";
import { openRunPipes } from "./run-pipes.ts";
import { newTag, startOf, TAG_VARIABLE, tagValue } from "./run-tag.ts";

/** Where to run: `cwd` is any path the system opens, `realCwd` what the program is told. */
export type Folder = { readonly cwd: string; readonly realCwd: string };

type End = { readonly exitCode: number | null; readonly exitSignal: string | null };
type Stop = "timeout" | "abort";

/**
 * Settles after everything the program started has ended. Throws `process-failed` when it cannot start. `confined`: what
 * is started in its place.
 */
export async function runProcess(
  argv: readonly string[],
  folder: Folder,
  options: RunOptions,
  clock: Clock,
  confined?: Confined,
): Promise<RunOutcome> {
  const startedAt = clock.monotonic();
  const { child, tag, stdout, stderr, program } = await startChild(argv, folder, options, confined);
  const report = shimReport(child);
  const ended = endOf(child, program);
  const out = collect(stdout, "stdout", options);
  const err = collect(stderr, "stderr", options);
  feed(child, options, confined?.lifeline === true);
  const find = finder(child.pid, tag, confined !== undefined);
  const stop = stopper(options, clock);
  const supervised = await supervise({ ended, streams: [out, err], find, stop, clock }).finally(() =>
    child.stdin?.destroy(),
  );
  const { end, stoppedBy } = supervised;
  const told = await within(report, TOOL_LIMITS.drainMs, clock);
  statusStream(child)?.destroy();
  if (confined !== undefined && stoppedBy === null) {
    checkStarted(confined, { ...end, report: told, stderr: err.start() }, program);
  }
  const leftover = told?.leftover ?? supervised.leftover;
  return {
    ...(confined === undefined ? end : confinedEnd(end)),
    killedBy: stoppedBy,
    stdout: out.window.text(),
    stderr: err.window.text(),
    truncated: out.window.truncated || err.window.truncated,
    durationMs: Math.round(clock.monotonic() - startedAt),
    ...(leftover > 0 && { leftover }),
  };
}

async function startChild(
  argv: readonly string[],
  { cwd, realCwd }: Folder,
  options: RunOptions,
  confined: Confined | undefined,
) {
  const tag = newTag();
  const [program = ""] = argv;
  const [started = "", ...rest] = confined?.argv ?? argv;
  const fixed = { PWD: realCwd, [TAG_VARIABLE]: tagValue(tag, process.env[TAG_VARIABLE]), ...confined?.env };
  const env = childEnv(process.env, options.env ?? {}, fixed);
  if (options.onInput !== undefined && confined?.lifeline === true)
    throw new CapstanError("process-failed", "This sandbox cannot write to a program while it runs");
  const withInput = options.input !== undefined || options.onInput !== undefined || confined?.lifeline === true;
  const pipes = await openRunPipes(tag, { withInput, withStatus: confined?.shim === true });
  try {
    const child = spawn(started, rest, { cwd, env, detached: true, stdio: pipes.stdio, windowsHide: true });
    return { child, tag, program, ...pipes.streams(child) };
  } catch (error) {
    pipes.discard();
    throw cannotStart(program, error);
  } finally {
    pipes.release();
  }
}

/** `lifeline`: the input stays open behind what is written. */
function feed(child: ChildProcess, { input, onInput }: RunOptions, lifeline: boolean): void {
  child.stdin?.on("error", () => {}); // a program may close its input before it has read it
  if (onInput !== undefined && child.stdin !== null) onInput(child.stdin);
  else if (lifeline) child.stdin?.write(input ?? "");
  else child.stdin?.end(input);
}

function finder(pid: number | undefined, tag: string, confined: boolean): () => readonly Found[] {
  if (pid === undefined) return () => [];
  const mark = { tag, group: pid, since: startOf(pid) };
  if (!confined) return () => findProcesses(mark);
  return () => findProcesses(mark).map((one) => (one.pid === pid ? { ...one, wrapper: true } : one));
}

/** Throws when it was not the program that ended, but what was to start it. */
function checkStarted(confined: Confined, end: ConfinedStart, program: string): void {
  const problem = confined.problem(end);
  if (problem === "missing") throw cannotStart(program, "there is no such program inside the sandbox");
  if (problem !== undefined) throw new CapstanError("process-failed", `The sandbox could not run it: ${problem}`);
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

/** UTF-16 units of the output that say why a sandbox did not start. */
const SHOWN_START = 400;

type Collected = {
  readonly stream: Readable;
  readonly window: OutputWindow;
  /** The first words, also when nothing is kept. */
  readonly start: () => string;
  readonly closed: Promise<void>;
  /** Rejects when `onOutput` throws; never resolves. */
  readonly failed: Promise<never>;
};

function collect(stream: Readable, name: "stdout" | "stderr", { maxOutputBytes, onOutput }: RunOptions): Collected {
  const window = outputWindow(maxOutputBytes);
  let start = "";
  const closed = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // seen by the one who races it, as long as the run goes on
  stream.on("error", () => stream.destroy()); // what was read stays
  stream.on("close", () => closed.resolve());
  stream.on("data", (chunk: Uint8Array) => {
    const text = window.push(chunk);
    if (start.length < SHOWN_START) start += text.slice(0, SHOWN_START);
    if (text === "" || onOutput === undefined) return;
    try {
      onOutput(name, text);
    } catch (error) {
      failed.reject(error);
      stream.removeAllListeners("data").resume();
    }
  });
  return { stream, window, start: () => start, closed: closed.promise, failed: failed.promise };
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
