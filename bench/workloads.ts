/** What a child does with its subject, and the numbers that come of it. Times of the processor are in microseconds. */

import { lookAt, type LookInput } from "./subject.ts";
import { turnMeter } from "./turn-meter.ts";
import { cpuMicros, type Numbers, setting, type Workload, type World } from "./world.ts";

export const WORKLOADS = {
  turns,
  deltas,
  steady,
  persistence: async (world) => (await import("./workload-persistence.ts")).persistence(world),
  crowd,
  idleHeap: async (world) => (await import("./workload-heap.ts")).idleHeap(world),
  decision: async () => (await import("./workload-decision.ts")).decision(),
  inputBill: async () => (await import("./workload-bill.ts")).inputBill(),
  prepareSession: async (world) => (await import("./workload-open.ts")).prepareSession(world),
  openSession: async (world) => (await import("./workload-open.ts")).openSession(world),
} satisfies Record<string, Workload>;

/** Whole conversations of tool turns, each with its own beginning and end: cost per call of the tool. */
async function turns(world: World): Promise<Numbers> {
  const [count, calls, runs, warm] = ["turns", "calls", "runs", "warm"].map((name) => setting(world, name)) as [
    number,
    number,
    number,
    number,
  ];
  let made = 0;
  const look = (input: LookInput): string => (made++, lookAt(input));
  const subject = await world.subjectFor({ script: `tools/${count}/${calls}`, look, history: 0 });
  for (let run = 0; run < warm; run++) await subject.converse(ignore);
  made = 0;
  const before = process.cpuUsage();
  const startedAt = performance.now();
  for (let run = 0; run < runs; run++) await subject.converse(ignore);
  const cpu = cpuMicros(before);
  const wallMs = performance.now() - startedAt;
  expectCount("calls", made, runs * count * calls);
  await subject.close();
  return { cpu: cpu / made, wall: (wallMs * 1_000) / made, units: made };
}

/** Long texts to one subscriber: cost per delta. */
async function deltas(world: World): Promise<Numbers> {
  const count = setting(world, "deltas");
  const runs = setting(world, "runs");
  let seen = 0;
  let said = 0;
  const onText = (delta: string): void => {
    seen += 1;
    said += delta.length;
  };
  const script = `text/${count}/${setting(world, "chunkBytes")}`;
  const subject = await world.subjectFor({ script, look: lookAt, history: 0 });
  for (let run = 0; run < setting(world, "warm"); run++) await subject.converse(onText);
  seen = 0;
  said = 0;
  const before = process.cpuUsage();
  for (let run = 0; run < runs; run++) await subject.converse(onText);
  const cpu = cpuMicros(before);
  await subject.close();
  return { cpu: cpu / (runs * count), seen: seen / runs, said: said / runs, units: runs * count };
}

/** Turns in the middle of one conversation, without its beginning and end: cost per turn at a length of history. */
async function steady(world: World): Promise<Numbers> {
  const [count, skip, runs, warm] = ["turns", "skip", "runs", "warm"].map((name) => setting(world, name)) as [
    number,
    number,
    number,
    number,
  ];
  const meter = turnMeter(count, skip);
  const history = setting(world, "history");
  const subject = await world.subjectFor({ script: `tools/${count}/1`, look: meter.look, history });
  const costs: number[] = [];
  for (let run = 0; run < runs + warm; run++) {
    await subject.converse(ignore);
    costs.push(meter.perTurn());
  }
  await subject.close();
  const total = costs.slice(warm).reduce((sum, cost) => sum + cost, 0);
  return { cpu: total / runs, units: runs * (count - skip) };
}

/** Many conversations that begin in the same moment: cost per conversation, and how long each waited for its first text. */
async function crowd(world: World): Promise<Numbers> {
  const size = setting(world, "size");
  const batches = setting(world, "batches");
  const subject = await world.subjectFor({ script: `tools/${setting(world, "turns")}/1`, look: lookAt, history: 0 });
  const waits: number[] = [];
  const one = async (): Promise<void> => {
    const startedAt = performance.now();
    let first: number | undefined;
    await subject.converse(() => (first ??= performance.now() - startedAt));
    waits.push(first ?? Infinity);
  };
  const all = (): Promise<unknown> => Promise.all(Array.from({ length: size }, one));
  for (let batch = 0; batch < setting(world, "warm"); batch++) await all();
  waits.length = 0;
  const before = process.cpuUsage();
  for (let batch = 0; batch < batches; batch++) await all();
  const cpu = cpuMicros(before);
  await subject.close();
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? Infinity;
  return { cpu: cpu / (size * batches), p99: at(0.99), p50: at(0.5), units: size * batches };
}

function expectCount(what: string, found: number, expected: number): void {
  if (found !== expected) throw new Error(`${found} ${what} were made, not ${expected}`);
}

function ignore(): void {
  // the subscriber reads and forgets
}
