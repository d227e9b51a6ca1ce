import { sleep, systemClock } from "@capstan/core";
import { afterEach, describe, expect, it } from "vitest";
import { Client } from "../harness/client.ts";
import { howMany } from "../harness/how-many.ts";
import { judgeAndClose, summaryOf } from "../harness/judge.ts";
import { planText } from "../harness/scene.ts";
import { random, seedOfRun } from "../harness/random.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";
import { killAllWorkers, warmUp, WorkerProcess } from "../harness/worker-process.ts";

const seed = seedOfRun(systemClock.now());

afterEach(killAllWorkers);

describe(`three workers on one file, seed ${seed}`, () => {
  it("EDGE-01 EDGE-04 DUR-01 DUR-02 DUR-03 DUR-08 SESS-03 TEST-04 G1 G3 G5 G6 keep 150 sessions going while one of them is killed every second", async () => {
    const folder = temporaryFolder();
    const durability = "full";
    const chance = random(seed);
    const kills = howMany(60);
    await warmUp();
    const client = await Client.open({ folder, durability, seed, sessions: 150 });
    let lives = 0;
    const start = async (): Promise<WorkerProcess> => {
      const worker = new WorkerProcess({ folder, durability, seed: seed + ++lives, paceMs: 6 }, (said) => {
        if (said.type === "sent") client.told(said.idempotencyKey, said.inputId, said.runId);
      });
      await worker.until("loaded");
      worker.go();
      await worker.until("up");
      handOut(worker);
      return worker;
    };
    const handOut = (worker: WorkerProcess): void => {
      for (const { plan, session, acknowledged } of client.outbox)
        if (!acknowledged) worker.tell({ type: "send", key: session, idempotencyKey: plan.plan, text: planText(plan) });
    };
    const workers = await Promise.all([start(), start(), start()]);
    for (let second = 0; second < kills; second++) {
      const until = systemClock.monotonic() + 1_000;
      while (systemClock.monotonic() < until) {
        await client.topUp();
        await client.answerRequests(0.3);
        await sleep(systemClock, 50);
      }
      const struck = chance.int(0, 2);
      await workers[struck]?.kill();
      workers[struck] = await start();
    }
    for (const worker of workers) handOut(worker);
    await client.untilRest();
    for (const worker of workers) expect(await worker.end()).toBe("");
    const verdict = await judgeAndClose(client);
    console.log(`${kills} kills of three workers, seed ${seed}: ${summaryOf(verdict)}`);
    expect(verdict.problems).toEqual([]);
  }, 400_000);
});
