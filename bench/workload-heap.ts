/** Heap that an idle session holds: opened only, or after a run. */

import { setTimeout as sleep } from "node:timers/promises";
import { DEFAULTS, read, runtimeFor } from "./capstan.ts";
import { INPUT, lookAt } from "./subject.ts";
import { type Numbers, setting, type World } from "./world.ts";

/** `runs: 0`: the sessions are opened and held. `runs: 1`: each has had a run of a few turns. */
export async function idleHeap(world: World): Promise<Numbers> {
  const sessions = setting(world, "sessions");
  const runs = setting(world, "runs");
  const runtime = await runtimeFor(world.url, world.folder, DEFAULTS, { script: "tools/2/1", look: lookAt });
  const open = async (): Promise<unknown> => {
    const session = await runtime.session({ agent: "reader" });
    for (let run = 0; run < runs; run++) await read(await session.send(INPUT), () => undefined);
    return session;
  };
  for (let index = 0; index < 100; index++) await open();
  const before = await settledHeap();
  const held: unknown[] = [];
  for (let index = 0; index < sessions; index++) held.push(await open());
  const after = await settledHeap();
  await runtime.close();
  return { bytes: (after - before) / held.length, units: held.length };
}

async function settledHeap(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    await sleep(50);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}
