/** The processes of a benchmark: the model's, and a fresh child for each repetition. */

import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Order } from "./child.ts";
import type { Numbers } from "./world.ts";

const SOURCE = ["--conditions=capstan-source", "--expose-gc", "--no-warnings"];
const KEY = "sk-ant-api03-bench-5kQh0Wv7Yt3uZr1NcXe8Lb2MaPd6Sg9JfHi4Ko";

export type ModelProcess = { readonly url: string; readonly stop: () => Promise<void> };

export async function startModel(): Promise<ModelProcess> {
  const child = fork(new URL("./model-server.ts", import.meta.url), { execArgv: SOURCE });
  const [port] = (await once(child, "message")) as [number]; // model-server.ts sends nothing else
  const stop = async (): Promise<void> => {
    child.kill();
    await once(child, "exit");
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}

/** Runs one order in a process of its own. Throws with what the process said when it failed. */
export async function runOrder(order: Order, nodeOptions: readonly string[] = []): Promise<Numbers> {
  const args = [...SOURCE, ...nodeOptions, join(import.meta.dirname, "child.ts"), JSON.stringify(order)];
  const child = spawn(process.execPath, args, { env: environment(), stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  const last = out.trim().split("\n").at(-1) ?? "";
  if (code !== 0) throw new Error(`${order.subject} ${order.workload} ended with ${code}: ${said.trim().slice(-600)}`);
  return JSON.parse(last) as Numbers; // child.ts prints it last
}

/** Starts a program and answers when its first output came, in milliseconds of the wall clock. */
export async function timeToFirstOutput(file: string, args: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [join(import.meta.dirname, "start", file), ...args], {
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  let first: number | undefined;
  child.stdout.on("data", () => (first ??= performance.now() - startedAt));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0 || first === undefined) throw new Error(`${file} ended with ${code}: ${said.trim().slice(-600)}`);
  return first;
}

/** The caller's own, without what would change the subject. */
function environment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, ANTHROPIC_MODEL: _model, ...rest } = process.env;
  return { ...rest, ANTHROPIC_API_KEY: KEY };
}
