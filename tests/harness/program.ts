/** Runs a program of this folder, bundled, to its end, whatever that is. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename, join } from "node:path";

export type Ended = { readonly signal: string | null; readonly output: string; readonly complaints: string };

/** `options` is its only argument, as JSON. */
export async function runProgram(name: string, options: object): Promise<Ended> {
  const program = join(process.env["TEST_PROGRAMS"] ?? "", `${basename(name, ".ts")}.js`);
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "pipe"],
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
