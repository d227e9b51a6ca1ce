/** A program in a process of its own, without files, network, environment or time: what it wants called, and its end. */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { parse as parsePath } from "node:path";
import { CapstanError, type Json, systemClock } from "@capstan/core";
import { z } from "zod";
import { CODE_LIMITS as LIMITS } from "./limits.ts";
import { programHost, type ProgramStart } from "./program-host.ts";
import { programRealm } from "./program-realm.ts";

export type ProgramCall = { readonly name: string; readonly input: Json };
export type ProgramResult = { readonly value: Json } | { readonly error: string };
/** It waits for its calls, or has ended: `value` is what it returned, as JSON. */
export type ProgramState =
  | { readonly type: "calls"; readonly calls: readonly ProgramCall[] }
  | { readonly type: "value"; readonly value: Json; readonly console: readonly string[] }
  | { readonly type: "error"; readonly error: string; readonly console: readonly string[] };

const STATE = z.object({
  calls: z.array(z.object({ name: z.string(), input: z.string() })),
  console: z.array(z.string()),
  value: z.string().optional(),
  error: z.string().optional(),
  fatal: z.boolean().optional(),
});

/** Node 25 and later refuse the network by `--permission` too; before, the process has put away all that reaches it. */
const FLAGS: readonly string[] = [
  "--permission",
  "--frozen-intrinsics",
  "--disallow-code-generation-from-strings",
  "--no-addons",
  "--unhandled-rejections=none",
  "--experimental-vm-modules", // so that the answer to an import is ours
  "--no-warnings",
  `--max-old-space-size=${LIMITS.heapMegabytes}`,
  "-e",
  `"use strict";(${String(programHost)})()`, // a build may drop what the function says of it
];

export type ProgramOptions = {
  readonly code: string;
  readonly tools: readonly string[];
  /** Of what it takes for chance. */
  readonly seed: number;
  /** Default `CODE_LIMITS.burstMs`. */
  readonly burstMs?: number;
};

/** A program that was begun: `next` is its next step, `close` ends it. */
export type RunningProgram = Pick<Program, "next" | "close">;

/** One at a time: `next` is awaited before it is called again. `close` when it is of no more use; it may be called twice. */
export class Program {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #options: ProgramOptions & { readonly burstMs: number };
  #begun = false;
  #buffer: Buffer[] = [];
  #size = 0;
  #answer: ((line: string | undefined) => void) | undefined;
  #ended = false;

  constructor(options: ProgramOptions) {
    this.#options = { burstMs: LIMITS.burstMs, ...options };
    this.#child = spawn(process.execPath, FLAGS, {
      cwd: parsePath(process.execPath).root,
      env: { TZ: "UTC", ...(process.platform === "win32" && { SYSTEMROOT: process.env["SYSTEMROOT"] }) },
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
    });
    const end = (): void => this.#end();
    this.#child.on("error", end);
    this.#child.on("close", end);
    this.#child.stdin.on("error", end);
    this.#child.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    this.#child.stderr.resume(); // what Node says of its own end is not of use
  }

  /** Goes on with the results of its calls, in their order, until it waits again. Throws the signal's reason. */
  async next(results: readonly ProgramResult[], signal: AbortSignal): Promise<ProgramState> {
    signal.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#answer = resolve;
    if (this.#ended) resolve(undefined);
    else this.#child.stdin.write(`${this.#begun ? JSON.stringify(results) : this.#start()}\n`);
    this.#begun = true;
    const late = systemClock.after(this.#options.burstMs + LIMITS.graceMs, () => this.#end());
    const onAbort = (): void => this.#end();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const line = await promise;
      signal.throwIfAborted();
      return line === undefined ? ranOut() : toState(line);
    } finally {
      late();
      signal.removeEventListener("abort", onAbort);
    }
  }

  close(): void {
    this.#end();
  }

  #start(): string {
    const realm = `"use strict";(${String(programRealm)})`;
    const start: ProgramStart = { ...this.#options, realm, limits: LIMITS };
    return JSON.stringify(start);
  }

  #take(chunk: Buffer): void {
    const at = chunk.indexOf(10);
    this.#size += chunk.length;
    if (this.#size > LIMITS.answerBytes) return this.#end();
    this.#buffer.push(at === -1 ? chunk : chunk.subarray(0, at));
    if (at === -1) return;
    const line = Buffer.concat(this.#buffer).toString();
    this.#buffer = [];
    this.#size = 0;
    this.#answer?.(line);
  }

  #end(): void {
    this.#ended = true;
    this.#child.kill("SIGKILL");
    this.#answer?.(undefined);
  }
}

/** What the process said of where it stands. Throws `process-failed`. */
export function toState(line: string): ProgramState {
  const { calls, console, value, error, fatal } = parsed(line);
  if (fatal === true && error === "timeout") return ranOut();
  if (error !== undefined) return { type: "error", error, console };
  if (value !== undefined) return { type: "value", value: JSON.parse(value) as Json, console };
  if (calls.length > 0)
    return { type: "calls", calls: calls.map(({ name, input }) => ({ name, input: JSON.parse(input) as Json })) };
  return {
    type: "error",
    error: "The program waits for something that never comes: await only calls of tools",
    console,
  };
}

function ranOut(): ProgramState {
  const { burstMs, heapMegabytes } = LIMITS;
  const error = `The program was ended: it may compute for ${burstMs / 1_000} s between calls and use ${heapMegabytes} MB`;
  return { type: "error", error, console: [] };
}

function parsed(line: string): z.infer<typeof STATE> {
  try {
    return STATE.parse(JSON.parse(line));
  } catch (cause) {
    throw new CapstanError("process-failed", "The process of a program answered something else than its state", {
      cause,
    });
  }
}
