/** A series of deaths at chosen places: each life ends between an effect and its result, until no effect is new. */

import { sleep, systemClock } from "@capstan/core";
import { Client } from "./client.ts";
import type { ToolName } from "./scene.ts";
import { killAllWorkers, warmUp, WorkerProcess } from "./worker-process.ts";
import type { WorkerOptions } from "./worker.ts";

export type StruckOptions = {
  readonly folder: string;
  readonly durability: "full" | "relaxed";
  /** Effects of the plan, one a turn; each of them costs a life. */
  readonly effects: number;
  /** Declares every effect `safe`: the control. */
  readonly lies: boolean;
};

/** None of them knows an idempotency key: what happens twice shows. */
const EFFECTS: readonly ToolName[] = ["never", "side", "flow"];
const LOOK_MS = 4;

/** The client is still open: its logs and ledger are for the judge, who closes it. */
export async function struckSeries({ folder, durability, effects, lies }: StruckOptions): Promise<Client> {
  const options: WorkerOptions = { folder, durability, seed: 1, paceMs: 0, lies, diesAfterEffect: true };
  await warmUp();
  const client = await Client.open({ folder, durability, seed: 1 });
  try {
    const turns = Array.from({ length: effects }, (_, turn) => [EFFECTS[turn % EFFECTS.length] ?? "never"]);
    await client.send("k0", { plan: "i1", turns });
    for (let life = 1; life <= effects; life++) await live(new WorkerProcess(options), client);
    const last = new WorkerProcess(options);
    await begin(last);
    await client.untilRest();
    const complaints = await last.end();
    if (complaints !== "") throw new Error(`the last worker complained: ${complaints}`);
    return client;
  } catch (error) {
    await client.close();
    throw error;
  } finally {
    await killAllWorkers();
  }
}

/** To its death. What an earlier life left in doubt is answered meanwhile. */
async function live(worker: WorkerProcess, client: Client): Promise<void> {
  await begin(worker);
  while (!worker.ended) {
    await client.answerRequests(0);
    await sleep(systemClock, LOOK_MS);
  }
}

async function begin(worker: WorkerProcess): Promise<void> {
  await worker.until("loaded");
  worker.go();
}
