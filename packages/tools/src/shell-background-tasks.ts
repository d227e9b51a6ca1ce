/** Commands that run beside the conversation: started, read, ended, and all of them ended with the runtime. */

import { CapstanError, type Clock, messageOf, sha256, type Workspace } from "@capstan/core";
import { outputTail, type OutputTail } from "./shell-background-output.ts";
import { TOOL_LIMITS } from "./tool-limits.ts";

export type TaskStatus = "running" | "completed" | "failed" | "stopped";
export type BackgroundTask = {
  readonly id: string;
  readonly command: string;
  readonly output: OutputTail;
  status: TaskStatus;
  /** In words: `exit code 1`, `ended by SIGTERM`, `running`. */
  said: string;
  readonly ended: Promise<void>;
  readonly stop: AbortController;
  /** Resolves at the next output or at the end. */
  news(): Promise<void>;
};

export type StartTask = {
  readonly sessionId: string;
  readonly callId: string;
  readonly command: string;
  readonly argv: readonly string[];
  readonly workspace: Workspace;
  readonly lifetimeMs: number;
};

export class BackgroundTasks implements AsyncDisposable {
  readonly #sessions = new Map<string, Map<string, BackgroundTask>>();
  readonly #clock: Clock;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get clock(): Clock {
    return this.#clock;
  }

  /** A runtime that opens after another one was closed begins anew. */
  open(): this {
    this.#closed = false;
    return this;
  }

  of(sessionId: string): readonly BackgroundTask[] {
    return [...(this.#sessions.get(sessionId)?.values() ?? [])];
  }

  find(sessionId: string, id: string): BackgroundTask | undefined {
    return this.#sessions.get(sessionId)?.get(id);
  }

  /** Throws `tool-failed` when too many run, `closed` after the end. */
  start(options: StartTask): BackgroundTask {
    if (this.#closed) throw new CapstanError("closed", "The runtime is closing; nothing new is started");
    const tasks = this.#sessions.get(options.sessionId) ?? new Map<string, BackgroundTask>();
    this.#sessions.set(options.sessionId, tasks);
    const running = [...tasks.values()].filter(({ status }) => status === "running");
    if (running.length >= TOOL_LIMITS.backgroundRunning) {
      const message = `${running.length} background commands run already; end one with shell_kill first`;
      throw new CapstanError("tool-failed", message);
    }
    const task = begin(options);
    tasks.set(task.id, task);
    const ended = [...tasks.values()].filter(({ status }) => status !== "running");
    for (const { id } of ended.slice(0, Math.max(0, ended.length - TOOL_LIMITS.backgroundEnded))) tasks.delete(id);
    return task;
  }

  /** Ends all that runs and waits for it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const all = [...this.#sessions.values()].flatMap((tasks) => [...tasks.values()]);
    for (const { stop } of all) stop.abort(new CapstanError("aborted", "The runtime was closed"));
    await Promise.all(all.map(({ ended }) => ended));
    this.#sessions.clear();
  }
}

/** The id of the task that a call starts: the same in every process. */
export function taskIdOf(callId: string): string {
  return `cmd_${sha256(callId).slice(0, 8)}`;
}

function begin({ callId, command, argv, workspace, lifetimeMs }: StartTask): BackgroundTask {
  const stop = new AbortController();
  const output = outputTail(TOOL_LIMITS.backgroundCharacters);
  let news = Promise.withResolvers<void>();
  const announce = (): void => {
    news.resolve();
    news = Promise.withResolvers<void>();
  };
  const running = workspace.run(argv, {
    timeoutMs: lifetimeMs,
    maxOutputBytes: 0,
    signal: stop.signal,
    onOutput(_stream, chunk) {
      output.push(chunk);
      announce();
    },
  });
  const settled = (status: TaskStatus, said: string): void => {
    Object.assign(task, { status, said });
    announce();
  };
  const ended = running.then(
    ({ exitCode, exitSignal, killedBy }) => {
      if (killedBy === "abort") settled("stopped", "stopped");
      else if (killedBy === "timeout") settled("failed", `ended after its ${lifetimeMs} ms`);
      else if (exitSignal !== null) settled("failed", `ended by ${exitSignal}`);
      else settled(exitCode === 0 ? "completed" : "failed", `exit code ${exitCode}`);
    },
    (error: unknown) =>
      CapstanError.is(error, "aborted") ? settled("stopped", "stopped") : settled("failed", messageOf(error)),
  );
  const task: BackgroundTask = {
    id: taskIdOf(callId),
    command,
    output,
    status: "running",
    said: "running",
    ended,
    stop,
    news: () => (task.status === "running" ? news.promise : Promise.resolve()),
  };
  return task;
}
