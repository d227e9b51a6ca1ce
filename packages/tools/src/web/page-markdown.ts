/** HTML as Markdown, made in a thread whose time and memory are bounded; when it fails, as plain text. */

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { systemClock } from "@capstan/core";
import { WEB_LIMITS as LIMITS } from "./limits.ts";
import type { PageMarkdown, PageTask } from "./page-worker.ts";
import { plainText, titleOf } from "./plain-text.ts";

/** Whatever the page is, it throws only on abort. */
export async function pageMarkdown(task: PageTask, signal: AbortSignal): Promise<PageMarkdown> {
  const made = await inWorker(task, signal);
  if (made !== undefined) return made;
  const start = task.html.slice(0, LIMITS.rescuedCharacters); // on the thread that everybody shares
  return { title: titleOf(start), markdown: plainText(start), plain: true };
}

/** The file of the thread: beside this one in the sources, in the folder of its name when built. */
const PROGRAM = new URL(`../web/page-worker${extname(new URL(import.meta.url).pathname)}`, import.meta.url);

async function inWorker(task: PageTask, signal: AbortSignal): Promise<PageMarkdown | undefined> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<PageMarkdown | undefined>();
  const worker = new Worker(PROGRAM, {
    workerData: task,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: LIMITS.markdownMegabytes },
    stdout: true, // nothing a library prints may reach the output of this process
    stderr: true,
  });
  worker.stdout.resume();
  worker.stderr.resume();
  const cancel = systemClock.after(LIMITS.markdownMs, () => resolve(undefined));
  const onAbort = (): void => reject(signal.reason as Error); // what an abort is thrown as
  signal.addEventListener("abort", onAbort, { once: true });
  worker.on("message", (made: PageMarkdown) => resolve(made));
  worker.on("error", () => resolve(undefined));
  worker.on("exit", () => resolve(undefined));
  try {
    return await promise;
  } finally {
    cancel();
    signal.removeEventListener("abort", onAbort);
    await worker.terminate();
  }
}
