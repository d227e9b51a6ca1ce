/** Runs one command of the settings: JSON on its standard input, a deadline, bounded output, nothing of it left behind. */

import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import type { Readable } from "node:stream";
import { messageOf } from "@capstan/core";
import { endMarked, type HookMark, hookMark } from "./hook-processes.ts";
import type { HookCommand } from "./parse-settings.ts";

/** `exited` with its code; else it `failed`, and `problem` says how: too late, too loud, killed, never begun. */
export type CommandEnd =
  | { readonly type: "exited"; readonly exitCode: number; readonly stdout: string; readonly stderr: string }
  | { readonly type: "failed"; readonly problem: string };
export type CommandPlace = {
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
  readonly input: string;
  readonly signal: AbortSignal;
};

/** The only places bash is taken from: never PATH, which a project may have changed. */
const BASH_PATHS = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"];
/** What a command gets of this process's environment: never a key or a token. */
const ENVIRONMENT =
  "PATH HOME USER LOGNAME SHELL TERM TZ TMPDIR LANG LANGUAGE LC_ALL LC_CTYPE XDG_CONFIG_HOME SSL_CERT_FILE SYSTEMROOT TEMP TMP";
/** More than this on standard output is no answer; of standard error the first part is kept. */
const MAX_STDOUT = 131_072;
const MAX_STDERR = 16_384;
/** Time that an ended command's output has to come, when something outside its group still holds it. */
const DRAIN_MS = 250;

/** Never throws for what the command did; throws `signal.reason` on abort. */
export async function runCommand(command: HookCommand, place: CommandPlace): Promise<CommandEnd> {
  place.signal.throwIfAborted();
  const bash = BASH_PATHS.find(canRun);
  if (command.args === undefined && bash === undefined) return failed("there is no bash on this machine");
  const [program, args] =
    command.args === undefined
      ? [bash ?? "", ["--noprofile", "--norc", "-c", command.command]]
      : [command.command, command.args];
  let child: ChildProcess;
  const mark = hookMark();
  try {
    const env = { ...inherited(), ...place.env, ...mark?.env };
    child = spawn(program, args, { cwd: place.cwd, env, detached: true, stdio: "pipe", windowsHide: true });
  } catch (error) {
    return failed(`it could not be started: ${messageOf(error)}`);
  }
  const end = await supervised({ child, mark }, command.timeoutMs, place);
  place.signal.throwIfAborted();
  return end;
}

type Started = { readonly child: ChildProcess; readonly mark: HookMark | undefined };

async function supervised({ child, mark }: Started, timeoutMs: number, place: CommandPlace): Promise<CommandEnd> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<CommandEnd>();
  const onAbort = (): void => stop(failed("it was stopped"));
  const timer = setTimeout(() => stop(failed(`it took longer than ${timeoutMs} ms`)), timeoutMs);
  place.signal.addEventListener("abort", onAbort, { once: true });
  const stdout = collect(child.stdout, MAX_STDOUT, () => stop(failed(`it wrote more than ${MAX_STDOUT} characters`)));
  const stderr = collect(child.stderr, MAX_STDERR);
  child.stdin?.on("error", () => undefined); // it may end before it has read its input
  child.stdin?.end(place.input);
  try {
    const ended = endOf(child).then(async (end): Promise<CommandEnd> => {
      killGroup(child);
      await Promise.race([Promise.all([stdout.closed, stderr.closed]), after(DRAIN_MS)]);
      if (typeof end === "string") return failed(end);
      return { type: "exited", exitCode: end, stdout: stdout.text(), stderr: stderr.text() };
    });
    return await Promise.race([ended, stopped]);
  } finally {
    clearTimeout(timer);
    place.signal.removeEventListener("abort", onAbort);
    killGroup(child);
    if (mark !== undefined && child.pid !== undefined) endMarked(mark);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  }
}

/** Its exit code, or what happened instead. */
function endOf(child: ChildProcess): Promise<number | string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(`it could not be started: ${messageOf(error)}`));
    child.once("exit", (code, signal) => resolve(code ?? `it was ended by ${signal}`));
  });
}

type Collected = { readonly closed: Promise<void>; text(): string };

function collect(stream: Readable | null, limit: number, onOverflow?: () => void): Collected {
  let kept = "";
  const closed = new Promise<void>((resolve) => {
    if (stream === null) return resolve();
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      if (kept.length + chunk.length > limit) onOverflow?.();
      if (kept.length < limit) kept += chunk.slice(0, limit - kept.length);
    });
    stream.on("error", () => resolve());
    stream.on("close", () => resolve());
  });
  return { closed, text: () => kept.toWellFormed() };
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // all of it has ended
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

function inherited(): { [name: string]: string } {
  const env: { [name: string]: string } = {};
  for (const name of ENVIRONMENT.split(" ")) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function failed(problem: string): CommandEnd {
  return { type: "failed", problem };
}
