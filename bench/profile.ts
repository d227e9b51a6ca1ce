/** Where the time of a measure goes: runs it under `--cpu-prof` and sums up self time by function. */

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Bench, Measure } from "./measure.ts";
import { runOrder } from "./processes.ts";

type CallFrame = { readonly functionName: string; readonly url: string; readonly lineNumber: number };
type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

const TOP = 25;

export async function profile(bench: Bench, measure: Measure | undefined): Promise<void> {
  const order = measure?.profile;
  if (order === undefined) throw new Error(`there is nothing to profile for ${measure?.name ?? "this name"}`);
  const folder = await mkdtemp(join(bench.folder, "profile-"));
  const options = ["--cpu-prof", `--cpu-prof-dir=${folder}`, "--cpu-prof-interval=200"];
  const { units = 1, ...numbers } = await runOrder({ ...order, url: bench.url }, options);
  const [file] = await readdir(folder);
  const text = await readFile(join(folder, file ?? ""), "utf8");
  await rm(folder, { recursive: true });
  const parsed = JSON.parse(text) as CpuProfile; // written by V8
  console.log(`${measure?.name}: ${units} units, ${JSON.stringify(numbers)} (with the profiler and the warm-up)\n`);
  const functions = selfTimes(parsed, nameOf);
  print("function", functions, TOP);
  console.log("");
  print("file", selfTimes(parsed, fileOf), TOP);
  console.log("");
  print("function with all that it calls", totalTimes(parsed), TOP, total(functions));
}

function selfTimes(
  { nodes, samples, timeDeltas }: CpuProfile,
  name: (frame: CallFrame) => string,
): Map<string, number> {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, name(callFrame)]));
  const times = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const called = names.get(id) ?? "?";
    times.set(called, (times.get(called) ?? 0) + (timeDeltas[index] ?? 0));
  }
  times.delete("(idle)");
  return times;
}

/** Of the functions of our packages: the time of everything that runs below them, until the next await. */
function totalTimes({ nodes, samples, timeDeltas }: CpuProfile): Map<string, number> {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const stack = new Set<string>();
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) stack.add(names.get(at) ?? "?");
    for (const name of stack) {
      if (name.includes("packages/")) times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0));
    }
  }
  return times;
}

function total(times: ReadonlyMap<string, number>): number {
  return [...times.values()].reduce((sum, time) => sum + time, 0);
}

function print(what: string, times: ReadonlyMap<string, number>, top: number, whole: number = total(times)): void {
  console.log(`        ms   share  ${what} (of ${(whole / 1_000).toFixed(0)} ms)`);
  for (const [name, time] of [...times].toSorted((a, b) => b[1] - a[1]).slice(0, top)) {
    console.log(
      `${(time / 1_000).toFixed(1).padStart(10)}  ${((time / whole) * 100).toFixed(1).padStart(5)}%  ${name}`,
    );
  }
}

function nameOf(frame: CallFrame): string {
  const { functionName, lineNumber } = frame;
  if (frame.url === "") return functionName || "(anonymous)";
  return `${functionName || "(anonymous)"}  ${fileOf(frame)}:${lineNumber + 1}`;
}

function fileOf({ url, functionName }: CallFrame): string {
  if (url === "") return functionName.startsWith("(") ? functionName : "(native)";
  return url
    .replace(/^file:\/\//, "")
    .replace(/^.*\/(?:packages|node_modules|bench)\//, (found) =>
      found.slice(found.lastIndexOf("/", found.length - 2) + 1),
    );
}
