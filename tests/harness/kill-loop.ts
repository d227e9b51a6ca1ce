/** Kills workers at random moments, starts new ones, and lets the last one finish what was acknowledged. */

import { sleep, systemClock } from "@capstan/core";
import { Client } from "./client.ts";
import { random, type Random } from "./random.ts";
import { planText } from "./scene.ts";
import { killAllWorkers, warmUp, WorkerProcess } from "./worker-process.ts";
import type { Said, WorkerOptions } from "./worker.ts";

export type KillOptions = {
  readonly folder: string;
  readonly durability: "full" | "relaxed";
  readonly kills: number;
  readonly seed: number;
};

/** Share of the kills that strike right after an effect, before its result; the others come at random moments. */
const AIMED = 0.3;

/** Longest life of a worker after its start. */
const LIFE_MS = 260;

const LOOK_MS = 8;

/** The client is still open: its logs and ledger are for the judge, who closes it. */
export async function killLoop(options: KillOptions): Promise<Client> {
  const { folder, durability, kills, seed } = options;
  const chance = random(seed);
  await warmUp();
  const client = await Client.open({ folder, durability, seed });
  const done = new AbortController();
  const busy = keepBusy(client, done.signal);
  try {
    let aims = chance.chance(AIMED);
    let standby = worker(options, client, 0, aims);
    for (let kill = 1; kill <= kills; kill++) {
      const current = standby;
      const life = aims ? untilEffect : lifeOf;
      await current.until("loaded");
      current.go();
      aims = kill < kills && chance.chance(AIMED);
      standby = worker(options, client, kill, aims);
      await Promise.race([life(current, client, chance), busy.failed]);
      await current.kill();
    }
    done.abort();
    await busy.ended;
    await finish(client, standby);
    return client;
  } catch (error) {
    done.abort();
    await client.close();
    throw error;
  } finally {
    await killAllWorkers();
  }
}

function workerOptions({ folder, durability, seed }: KillOptions, life: number): WorkerOptions {
  return { folder, durability, seed: seed + life, paceMs: 6 };
}

function worker(options: KillOptions, client: Client, life: number, aimed: boolean): WorkerProcess {
  const heard = (said: Said): void => {
    if (said.type === "sent") client.told(said.idempotencyKey, said.inputId, said.runId);
  };
  return new WorkerProcess({ ...workerOptions(options, life), diesAfterEffect: aimed }, heard);
}

/** One in eight dies while it starts, the others at work. */
async function lifeOf(current: WorkerProcess, client: Client, chance: Random): Promise<void> {
  if (chance.chance(0.125)) return sleep(systemClock, chance.int(0, 40));
  await current.until("up");
  handOut(current, client);
  await sleep(systemClock, chance.int(1, LIFE_MS));
}

/** It kills itself in the middle of an effect; should there be none to perform, it is killed as the others. */
async function untilEffect(current: WorkerProcess, client: Client): Promise<void> {
  const late = new AbortController();
  current.until("up").then(
    () => handOut(current, client),
    () => undefined,
  );
  await Promise.race([current.gone(), sleep(systemClock, 8 * LIFE_MS, late.signal).catch(() => undefined)]);
  late.abort();
}

/** Inputs that no worker has acknowledged go to this one, under the same key as before. */
function handOut(current: WorkerProcess, client: Client): void {
  for (const { plan, session, acknowledged } of client.outbox) {
    if (acknowledged) continue;
    current.tell({ type: "send", key: session, idempotencyKey: plan.plan, text: planText(plan) });
  }
}

function keepBusy(
  client: Client,
  signal: AbortSignal,
): { readonly ended: Promise<void>; readonly failed: Promise<never> } {
  const look = async (): Promise<void> => {
    while (!signal.aborted) {
      await client.topUp();
      await client.answerRequests(0.5);
      await sleep(systemClock, LOOK_MS);
    }
  };
  const ended = look();
  const { promise: failed, reject } = Promise.withResolvers<never>();
  ended.catch(reject);
  failed.catch(() => undefined); // read by the race above
  return { ended, failed };
}

async function finish(client: Client, last: WorkerProcess): Promise<void> {
  await last.until("loaded");
  last.go();
  await last.until("up");
  handOut(last, client);
  await client.untilRest();
  const complaints = await last.end();
  if (complaints !== "") throw new Error(`the last worker complained: ${complaints}`);
}
