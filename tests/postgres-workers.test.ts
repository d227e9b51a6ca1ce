import { LIMITS, systemClock } from "@capstan/core";
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Client } from "./harness/client.ts";
import { judge, judgeAndClose, summaryOf } from "./harness/judge.ts";
import { killLoop } from "./harness/kill-loop.ts";
import { keepInPostgres } from "./harness/open-store.ts";
import { pgliteServer, STARTING_MS, type TestServer } from "./harness/pglite-server.ts";
import { freshSchema, SERVER_URL } from "./harness/postgres-servers.ts";
import { seedOfRun } from "./harness/random.ts";
import { struckSeries } from "./harness/struck-series.ts";
import { temporaryFolder } from "./harness/temporary-folder.ts";
import { killAllWorkers, warmUp, WorkerProcess } from "./harness/worker-process.ts";
import type { WorkerOptions } from "./harness/worker.ts";

const seed = seedOfRun(systemClock.now());
const KEY = "k0";

afterEach(killAllWorkers);

/** A folder whose processes share a new schema. */
function place(url: string): string {
  const folder = temporaryFolder();
  const { schema, drop } = freshSchema(url);
  onTestFinished(drop);
  keepInPostgres(folder, { url, schema });
  return folder;
}

describe("workers on PGlite", () => {
  let server: TestServer | undefined;
  beforeAll(async () => {
    server = await pgliteServer();
    return () => server?.close();
  }, STARTING_MS);

  it("DUR-09 DUR-13 EDGE-13 G3 deaths between an effect and its result double nothing", async () => {
    const folder = place(server?.url ?? "");
    const verdict = await judgeAndClose(await struckSeries({ folder, durability: "full", effects: 3, lies: false }));
    expect(verdict.problems).toEqual([]);
    expect(verdict).toMatchObject({ holds: 3, doubts: 3 });
  }, 60_000);
});

describe.skipIf(SERVER_URL === undefined)(`workers on a Postgres server, seed ${seed}`, () => {
  const url = SERVER_URL ?? "";
  for (const durability of ["full", "relaxed"] as const) {
    it(`DUR-01 DUR-02 DUR-03 DUR-09 DUR-13 EDGE-01 EDGE-13 keep what was acknowledged and double nothing over 10 kills (${durability})`, async () => {
      const client = await killLoop({ folder: place(url), durability, kills: 10, seed });
      const verdict = await judgeAndClose(client);
      console.log(`10 kills, ${durability}, seed ${seed}: ${summaryOf(verdict)}`);
      expect(verdict.problems).toEqual([]);
    }, 120_000);
  }

  it("EDGE-13 control: without the intent rule the same deaths double every effect", async () => {
    const options = { folder: place(url), durability: "full", effects: 3, lies: true } as const;
    const verdict = await judgeAndClose(await struckSeries(options));
    expect(verdict.problems.filter((problem) => problem.includes("happened 2 times"))).toHaveLength(3);
  }, 60_000);

  it("DUR-08 DUR-13 EDGE-04 two workers never hold one session both at once, and keep its order", async () => {
    const folder = place(url);
    await warmUp();
    const client = await Client.open({ folder, durability: "full", seed: 7 });
    const options = { folder, durability: "full", paceMs: 4 } as const;
    const workers = [await started({ ...options, seed: 1 }, client), await started({ ...options, seed: 2 }, client)];
    for (let op = 0; op < 16; op++) {
      const plan = client.plan();
      if (op % 2 === 0) await client.send(KEY, plan);
      else {
        client.outbox.push({ plan, session: KEY, acknowledged: false });
        const text = JSON.stringify(plan);
        workers[op % 4 === 1 ? 0 : 1]?.tell({ type: "send", key: KEY, idempotencyKey: plan.plan, text });
      }
    }
    await client.untilRest();
    const verdict = await judgeAndClose(client);
    expect(verdict.problems).toEqual([]);
    expect(verdict.inputs).toBe(16);
    expect(new Set(client.world.lines().map(({ pid }) => pid)).size).toBe(1);
  }, 60_000);

  it("LOOP-08 DUR-13 EDGE-05 an interrupt through another process ends the run within 1 s", async () => {
    const folder = place(url);
    await warmUp();
    const client = await Client.open({ folder, durability: "full", seed: 7 });
    await started({ folder, durability: "full", seed: 1, paceMs: 4 }, client);
    const run = await client.send(KEY, { plan: "i1", turns: [["never"]], hangs: true });
    await client.untilFact(KEY, () => client.world.lines().some(({ id }) => id.endsWith("/hangs")) || undefined);
    const from = systemClock.monotonic();
    await (await client.session(KEY)).interrupt();
    const tookMs = systemClock.monotonic() - from;
    const end = await client.untilFact(KEY, (facts) =>
      facts.find((fact) => fact.type === "run.finished" && fact.runId === run.runId),
    );
    await client.close();
    console.log(`interrupt through another process: ${Math.round(tookMs)} ms`);
    expect(tookMs).toBeLessThan(1_000);
    expect(end).toMatchObject({ reason: "interrupted" });
  }, 60_000);

  it("DUR-08 DUR-13 EDGE-04 G6 a frozen worker is taken over when its beat stands still, and writes nothing when it wakes up", async () => {
    const folder = place(url);
    await warmUp();
    const client = await Client.open({ folder, durability: "full", seed: 3, careful: true });
    const first = await started({ folder, durability: "full", seed: 1, paceMs: 300 }, client);
    await client.send(KEY, { plan: "i1", turns: [["never", "keyed"], ["never", "flow"], ["side", "safe"]] }); // prettier-ignore
    await client.untilFact(KEY, () => client.world.lines().at(0));
    first.freeze();
    const frozenAt = systemClock.now();
    const second = await started({ folder, durability: "full", seed: 2, paceMs: 0 }, client);
    await client.untilRest();
    const before = (await client.logs())[0]?.facts ?? [];
    const tookMs = (before.find(({ type }) => type === "run.resumed")?.at ?? Infinity) - frozenAt;
    first.thaw();
    const refused = await first.until("refused");
    await client.send(KEY, { plan: "i2", turns: [["never"]] });
    await client.untilRest();
    const verdict = await judge(client);
    const after = (await client.logs())[0]?.facts ?? [];
    await client.close();
    console.log(`frozen: taken over after ${tookMs} ms, its write was refused with ${refused.code}`);
    expect(refused.code).toBe("lost-ownership");
    expect(tookMs).toBeLessThan(LIMITS.takeoverMs + 4 * LIMITS.beatMs);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(verdict.problems).toEqual([]);
    expect(await second.end()).toBe("");
  }, 60_000);
});

async function started(options: WorkerOptions, client: Client): Promise<WorkerProcess> {
  const worker = new WorkerProcess(options, (said) => {
    if (said.type === "sent") client.told(said.idempotencyKey, said.inputId, said.runId);
  });
  await worker.until("loaded");
  worker.go();
  await worker.until("up");
  return worker;
}
