/** Runs a command with a time bound and collects what it prints; on time-out it ends the whole process group. */

import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";

export interface CommandOptions {
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface CommandResult {
  readonly ok: boolean;
  readonly ms: number;
  readonly output: string;
}

const running = new Set<ChildProcess>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    for (const child of running) endGroup(child);
    process.exit(130);
  });
}

/** Never rejects: a command that cannot start is a result with `ok: false`. Standard input is empty. */
export function runCommand(command: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const startedAt = performance.now();
  const [file = "", ...args] = command;
  const grouped = process.platform !== "win32";
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      env: { ...(options.env ?? process.env) },
      stdio: ["ignore", "pipe", "pipe"],
      detached: grouped,
      shell: !grouped,
    });
    running.add(child);
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
    const timer = setTimeout(() => {
      chunks.push(Buffer.from(`\nended after ${options.timeoutMs / 1000} s\n`));
      endGroup(child);
    }, options.timeoutMs);
    const settle = (ok: boolean): void => {
      clearTimeout(timer);
      running.delete(child);
      resolve({ ok, ms: performance.now() - startedAt, output: Buffer.concat(chunks).toString("utf8") });
    };
    child.once("error", (error) => {
      chunks.push(Buffer.from(`${error.message}\n`));
      settle(false);
    });
    child.once("close", (code) => settle(code === 0));
  });
}

/** Calls `work` for each item, at most `width` at a time; results keep the order of the items. */
export async function mapBounded<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function endGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined && process.platform !== "win32") process.kill(-child.pid, "SIGKILL");
    else child.kill("SIGKILL");
  } catch {
    // The group has ended already.
  }
}
