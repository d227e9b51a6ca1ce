/** `npm run bench`: takes every measure of performance.md, section 2, against the floor in the same invocation. */

import { spawnSync } from "node:child_process";
import { globSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Bench, type Measure, type Results, type Row, spreadOf, verdictOf } from "./measure.ts";
import { MEASURES } from "./measures.ts";
import { startModel } from "./processes.ts";
import { profile } from "./profile.ts";
import { table } from "./table.ts";
import type { Numbers } from "./world.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    reps: { type: "string", default: "5" },
    profile: { type: "string" },
  },
});
const reps = Number(values.reps);
const root = join(import.meta.dirname, "..");
const names = values.only.flatMap((list) => list.split(","));
const chosen = MEASURES.filter(({ name }) => names.length === 0 || names.includes(name));
const known = MEASURES.map(({ name }) => name).join(", ");
if (chosen.length === 0 || !Number.isInteger(reps) || reps < 1) {
  console.error(`usage: bench [--json] [--only <name>] [--reps <n>] [--profile <name>]; names: ${known}`);
  process.exit(2);
}

const model = await startModel();
const bench: Bench = { url: model.url, folder: await mkdtemp(join(tmpdir(), "capstan-bench-all-")) };
try {
  if (values.profile === undefined) await measureAll(bench);
  else
    await profile(
      bench,
      MEASURES.find(({ name }) => name === values.profile),
    );
} finally {
  await model.stop();
  await rm(bench.folder, { recursive: true, force: true });
}

async function measureAll(bench: Bench): Promise<void> {
  if (chosen.some(({ name }) => name === "start")) buildWhenOld();
  const rows: Row[] = [];
  for (const measure of chosen) rows.push(...(await take(bench, measure)));
  const machine = { cpu: cpus()[0]?.model ?? "", cores: cpus().length, load: loadavg()[0]?.toFixed(1) };
  if (values.json) {
    const judged = rows.map((row) => ({ ...row, verdict: verdictOf(row) }));
    console.log(JSON.stringify({ machine, node: process.version, reps, rows: judged }, null, 2));
    return;
  }
  console.log(table(rows));
  const { cpu, cores, load } = machine;
  console.log(
    `\n${cpu}, ${cores} cores, load ${load}; Node ${process.version}; ${reps} repetitions, median (min..max)`,
  );
}

/** All cases of a measure once, then once more: what slows the machine down slows all of them down. */
async function take(bench: Bench, measure: Measure): Promise<readonly Row[]> {
  const numbers = new Map<string, Numbers[]>();
  try {
    await measure.prepare?.(bench);
    for (let rep = 0; rep < (measure.once === true ? 1 : reps); rep++) {
      for (const [name, run] of Object.entries(measure.cases)) {
        progress(`${measure.name} ${rep + 1}/${reps} ${name}`);
        numbers.set(name, [...(numbers.get(name) ?? []), await run(bench)]);
      }
    }
  } catch (error) {
    return [
      { measure: measure.name, unit: "", note: `failed: ${error instanceof Error ? error.message : String(error)}` },
    ];
  } finally {
    progress("");
  }
  const results: Results = (name, number) =>
    spreadOf((numbers.get(name) ?? []).map((one) => one[number] ?? Number.NaN));
  return measure.rows(results);
}

/** What is going on, for a person who waits. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${text}`);
}

/** The start is measured with the built packages. */
function buildWhenOld(): void {
  const newest = (pattern: string): number =>
    Math.max(0, ...globSync(pattern, { cwd: root }).map((file) => statSync(join(root, file)).mtimeMs));
  const built = globSync("packages/*/dist/index.js", { cwd: root }).length;
  const old = newest("packages/*/src/**/*.ts") > newest("packages/*/dist/.tsbuildinfo");
  if (built > 0 && !old) return;
  const { status, stdout } = spawnSync(process.execPath, ["scripts/build.ts"], { cwd: root, encoding: "utf8" });
  if (status !== 0) process.stderr.write(`the build says:\n${stdout.slice(0, 1_000)}\n`);
}
