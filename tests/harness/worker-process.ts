/** The parent's hold on one worker process: starting, telling, killing, freezing. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Command, Said, WorkerOptions } from "./worker.ts";

const running = new Set<ChildProcess>();

export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #said: Said[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #exited: Promise<unknown>;
  #complaints = "";
  ended = false;

  /** Loads the program, which then waits for `go`. */
  constructor(options: WorkerOptions, onSaid: (said: Said) => void = () => undefined) {
    const program = join(process.env["TEST_PROGRAMS"] ?? "", "worker.js");
    this.#child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ["pipe", "pipe", "pipe"] });
    running.add(this.#child);
    this.#child.stdin?.on("error", () => undefined); // it was killed while it was told something
    this.#child.stderr?.on("data", (chunk: Buffer) => (this.#complaints += chunk.toString()));
    const lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }); // piped above
    lines.on("line", (line) => {
      const said = JSON.parse(line) as Said; // whole lines only: the end of a killed process is dropped below
      this.#said.push(said);
      onSaid(said);
      this.#wake();
    });
    const closed = Promise.all([once(this.#child, "exit"), once(lines, "close")]);
    this.#exited = closed.then(() => {
      this.ended = true;
      running.delete(this.#child);
      this.#wake();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  tell(command: Command): void {
    if (this.#child.stdin?.writable === true) this.#child.stdin.write(`${JSON.stringify(command)}\n`);
  }

  go(): void {
    this.tell({ type: "go" });
  }

  /** Rejects when the process ends first. */
  async until<Type extends Said["type"]>(type: Type): Promise<Extract<Said, { readonly type: Type }>> {
    for (;;) {
      const found = this.#said.find((said) => said.type === type);
      if (found !== undefined) return found as Extract<Said, { readonly type: Type }>; // its type was compared
      if (this.ended) throw new Error(`the worker ended before it said ${type}: ${this.#complaints}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Resolves when the process is gone. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  async gone(): Promise<void> {
    await this.#exited;
  }

  freeze(): void {
    this.#child.kill("SIGSTOP");
  }
  thaw(): void {
    this.#child.kill("SIGCONT");
  }

  /** Lets it close by itself; answers with what it complained of. */
  async end(): Promise<string> {
    this.#child.stdin?.end();
    await this.#exited;
    return this.#complaints;
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

let warm: Promise<void> | undefined;

/** Fills the compile cache, which only a process that ends by itself writes. Later starts take a third of the time. */
export function warmUp(): Promise<void> {
  warm ??= (async () => {
    const first = new WorkerProcess({ folder: homedir(), durability: "full", seed: 1, paceMs: 0 });
    await first.until("loaded");
    await first.end();
  })();
  return warm;
}

/** For the end of a test: nothing it started lives on. */
export async function killAllWorkers(): Promise<void> {
  for (const child of running) {
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }
}
