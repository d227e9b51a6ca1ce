/** Runs a program of this folder to its end, whatever that is. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { COMPILED } from "./worker-process.ts";

export type Ended = { readonly signal: string | null; readonly output: string; readonly complaints: string };

/** `options` is its only argument, as JSON. */
export async function runProgram(name: string, options: object): Promise<Ended> {
  const program = join(import.meta.dirname, name);
  const child = spawn(process.execPath, ["--conditions=capstan-source", program, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED },
    timeout: 30_000,
    killSignal: "SIGTERM", // a test tells it from SIGKILL
  });
  let output = "";
  let complaints = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (complaints += chunk.toString()));
  await once(child, "close");
  return { signal: child.signalCode, output, complaints };
}
