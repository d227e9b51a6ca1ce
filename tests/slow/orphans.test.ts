/** Nothing that was started stays behind: not after a shutdown in the middle of work, not after a SIGKILL (G10). */

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endLeftovers } from "@capstan/tools";
import { systemClock } from "@capstan/core";
import { afterEach, describe, expect, it, vi } from "vitest";

const TOOLS = 50;
const WORKER = join(import.meta.dirname, "orphans-worker.ts");
const folders: string[] = [];
const children: ReturnType<typeof spawn>[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL"); // of a test that failed: the others have ended theirs
  await endLeftovers(systemClock);
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

type Worker = {
  readonly folder: string;
  /** Unlike any other: the argument of the `sleep`s that it starts, five for each tool. */
  readonly mark: string;
  readonly child: ReturnType<typeof spawn>;
  readonly ended: Promise<void>;
};

let workers = 0;
async function busyWorker(kind: "local" | "bwrap"): Promise<Worker | undefined> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "capstan-orphans-")));
  folders.push(folder);
  workers += 1;
  const mark = String(2_000_000 + process.pid * 10 + workers);
  const child = spawn(process.execPath, ["--conditions=capstan-source", WORKER, folder, mark, kind, String(TOOLS)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  let said = "";
  child.stdout.on("data", (piece) => (said += String(piece)));
  await vi.waitFor(() => expect(said).toMatch(/up\n|missing\n/), { timeout: 50_000, interval: 20 });
  if (said.includes("missing")) return undefined;
  return { folder, mark, child, ended };
}

describe("G10 shell tools with detached grandchildren", () => {
  it(`TOOL-29 G10 ${TOOLS} of them end with a shutdown within 5 s`, async () => {
    const worker = await busyWorker("local");
    if (worker === undefined) throw new Error("a local workspace is always there");
    await allRun(worker);
    const start = systemClock.monotonic();
    worker.child.stdin?.end("close\n");
    await worker.ended;
    expect(running(worker.mark)).toBe(0);
    expect(systemClock.monotonic() - start).toBeLessThan(5_000);
  });

  it(`TOOL-29 G10 ${TOOLS} of them are found and ended by the next start after a SIGKILL`, async () => {
    const worker = await busyWorker("local");
    if (worker === undefined) throw new Error("a local workspace is always there");
    await allRun(worker);
    worker.child.kill("SIGKILL");
    await worker.ended;
    await endLeftovers(systemClock);
    expect(running(worker.mark)).toBe(0);
  });

  it(`TOOL-29 PERM-16 G10 ${TOOLS} of them in bwrap, where there is one, are gone within 10 s of a SIGKILL, without a next start`, async () => {
    const worker = await busyWorker("bwrap");
    if (worker === undefined) return;
    await allRun(worker);
    worker.child.kill("SIGKILL");
    await worker.ended;
    await vi.waitFor(() => expect(running(worker.mark)).toBe(0), { timeout: 10_000, interval: 50 });
  });
});

/** A tool answers when its command was started; the command needs a moment to start what it starts. */
function allRun({ mark }: Worker): Promise<void> {
  return vi.waitFor(() => expect(running(mark)).toBe(5 * TOOLS), { timeout: 30_000, interval: 50 });
}

function running(mark: string): number {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8") === `sleep\0${mark}\0`;
    } catch {
      return false;
    }
  }).length;
}
