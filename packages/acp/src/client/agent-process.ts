/** Another agent as a child process: in a group of its own, with an allow-listed environment, and nothing of it left behind. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { CapstanError, type Clock, messageOf, sleep, systemClock } from "@capstan/core";
import { ACP_LIMITS as LIMITS } from "../limits.ts";
import { agentEnv, type Environment } from "./agent-env.ts";
import { killMarked, processMark, type ProcessMark, signalGroup } from "./process-mark.ts";

export type AgentProgram = {
  readonly command: string;
  readonly args?: readonly string[];
  /** Absolute path of the folder it works in. */
  readonly cwd: string;
  /** What it gets beside the allow-listed names of this process's environment. */
  readonly env?: Environment;
};
export type ProcessEnd = { readonly exitCode: number | null; readonly signal: string | null };

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Started ones; what is left when this process exits is killed with it. */
const alive = new Set<AgentProcess>();
let isWatched = false;

export class AgentProcess {
  readonly pid: number;
  /** Its standard input and output. */
  readonly input: Writable;
  readonly output: Readable;
  readonly ended: Promise<ProcessEnd>;
  readonly #child: Child;
  readonly #mark: ProcessMark | undefined;
  readonly #clock: Clock;
  #stderr = "";
  #ending: Promise<void> | undefined;

  /** Throws `process-failed` for a program that cannot be started. */
  static async start(program: AgentProgram, clock: Clock = systemClock): Promise<AgentProcess> {
    const { command, args = [], cwd, env = {} } = program;
    const mark = processMark();
    const failed = (error: unknown): CapstanError =>
      new CapstanError(
        "process-failed",
        `The agent ${JSON.stringify(command)} could not be started: ${messageOf(error)}`,
        { cause: error },
      );
    let child: Child;
    try {
      const own = agentEnv(process.env, env, mark?.env ?? {});
      child = spawn(command, args, {
        cwd,
        env: own,
        detached: true,
        stdio: ["pipe", "pipe", "pipe"],
        windowsHide: true,
      });
    } catch (error) {
      throw failed(error);
    }
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => reject(failed(error)));
    });
    return new AgentProcess(child, mark, clock);
  }

  private constructor(child: Child, mark: ProcessMark | undefined, clock: Clock) {
    this.#child = child;
    this.#mark = mark;
    this.#clock = clock;
    this.pid = child.pid ?? 0;
    this.input = child.stdin;
    this.output = child.stdout;
    child.on("error", () => undefined); // a signal that could not be sent: it has ended
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => undefined); // a broken pipe is an end
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => {
      this.#stderr = `${this.#stderr}${text}`.slice(-LIMITS.stderrCharacters);
    });
    this.ended = new Promise((resolve) => {
      child.once("exit", (exitCode, signal) => {
        killMarked(this.#mark, this.pid); // what it started does not outlive it
        alive.delete(this);
        resolve({ exitCode, signal });
      });
    });
    alive.add(this);
    watchExit();
  }

  /** The last lines of its standard error, for people. */
  get stderr(): string {
    return this.#stderr.toWellFormed().trim();
  }

  /** SIGTERM, after a grace SIGKILL, to everything it started. May be called twice. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Whether it keeps this process alive; it does from its start on. */
  hold(held: boolean): void {
    const handles: readonly unknown[] = [this.#child, this.#child.stdin, this.#child.stdout, this.#child.stderr];
    for (const handle of handles) {
      const { ref, unref } = handle as { readonly ref?: () => void; readonly unref?: () => void }; // pipes have both
      (held ? ref : unref)?.call(handle);
    }
  }

  /** At once and for good: this process ends. */
  kill(): void {
    killMarked(this.#mark, this.pid);
  }

  async #end(): Promise<void> {
    this.input.destroy();
    if (await this.#hasEnded(0)) return this.#close();
    signalGroup(this.pid, "SIGTERM");
    if (!(await this.#hasEnded(LIMITS.endGraceMs))) {
      killMarked(this.#mark, this.pid);
      await this.#hasEnded(LIMITS.endKillMs);
    }
    this.#close();
  }

  #close(): void {
    this.output.destroy();
    this.#child.stderr.destroy();
  }

  async #hasEnded(ms: number): Promise<boolean> {
    const waited = new AbortController();
    const late = sleep(this.#clock, ms, waited.signal).then(
      () => false,
      () => false,
    );
    const ended = await Promise.race([this.ended.then(() => true), late]);
    waited.abort();
    return ended;
  }
}

function watchExit(): void {
  if (isWatched) return;
  isWatched = true;
  process.on("exit", () => {
    for (const one of alive) one.kill();
  });
}
