import { systemClock } from "@capstan/core";
import { afterEach, describe, expect, it } from "vitest";
import { Client } from "./harness/client.ts";
import { historyProblems } from "./harness/history-checker.ts";
import { judgeAndClose } from "./harness/judge.ts";
import { temporaryFolder } from "./harness/temporary-folder.ts";
import { killAllWorkers, warmUp, WorkerProcess } from "./harness/worker-process.ts";
import type { WorkerOptions } from "./harness/worker.ts";

const KEY = "k0";

afterEach(killAllWorkers);

async function stage(
  more: Partial<WorkerOptions> = {},
): Promise<{
  readonly client: Client;
  readonly start: (seed: number, over?: Partial<WorkerOptions>) => Promise<WorkerProcess>;
}> {
  const folder = temporaryFolder();
  const options: WorkerOptions = { folder, durability: "full", seed: 1, paceMs: 4, ...more };
  await warmUp();
  const client = await Client.open({ folder, durability: "full", seed: 7 });
  const start = async (seed: number, over: Partial<WorkerOptions> = {}): Promise<WorkerProcess> => {
    const worker = new WorkerProcess({ ...options, seed, ...over }, (said) => {
      if (said.type === "sent") client.told(said.idempotencyKey, said.inputId, said.runId);
    });
    await worker.until("loaded");
    worker.go();
    await worker.until("up");
    return worker;
  };
  return { client, start };
}

describe("two processes on one store", () => {
  it("DUR-08 DUR-13 EDGE-04 LOOP-13 LOOP-15 G6 work on one session never both at once, and keep its order", async () => {
    const { client, start } = await stage();
    const workers = [await start(1), await start(2)];
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
    // nobody died and nobody was frozen: one of them held it from the first effect to the last
    expect(new Set(client.world.lines().map(({ pid }) => pid)).size).toBe(1);
  }, 60_000);

  it("DUR-01 G6 hand a session of a killed process on: to one that starts at once, to one that runs within 10 s", async () => {
    const { client, start } = await stage();
    const first = await start(1);
    await client.send(KEY, { plan: "i1", turns: [], hangs: true });
    await untilHangs(client, 1);
    await first.kill();
    const second = await start(2);
    const upAt = systemClock.now();
    const resumedAt = await client.untilFact(KEY, (facts) => facts.find(({ type }) => type === "run.resumed")?.at);
    await untilHangs(client, 2);
    await start(3); // lives beside it and is not told of its end
    const killedAt = systemClock.now();
    await second.kill();
    const handedAt = await client.untilFact(KEY, (facts) => facts.filter(({ type }) => type === "run.resumed")[1]?.at);
    await (await client.session(KEY)).interrupt();
    await client.close();
    console.log(
      `take-over: ${resumedAt - upAt} ms after the start of another, ${handedAt - killedAt} ms by one that runs`,
    );
    expect(resumedAt - upAt).toBeLessThan(1_000);
    expect(handedAt - killedAt).toBeLessThan(10_000);
  }, 60_000);

  it("LOOP-08 EDGE-05 G11 end a run of another process within 1 s and keep its partial text", async () => {
    const { client, start } = await stage();
    await start(1);
    await client.send(KEY, { plan: "i1", turns: [["never"]], hangs: true });
    const queued = await client.send(KEY, { plan: "i2", turns: [["safe"]] });
    await untilHangs(client, 1);
    const session = await client.session(KEY);
    const from = systemClock.monotonic();
    await session.interrupt();
    const tookMs = systemClock.monotonic() - from;
    await client.untilFact(KEY, (facts) =>
      facts.find((fact) => fact.type === "run.finished" && fact.runId === queued.runId),
    );
    const [, cut, next, calls] = await session.messages();
    const log = (await client.logs())[0]?.facts ?? [];
    await client.close();
    console.log(`interrupt through another process: ${Math.round(tookMs)} ms`);
    expect(tookMs).toBeLessThan(1_000);
    expect(cut?.parts).toEqual([
      { type: "text", text: "i1" },
      { type: "text", text: "<system>User interrupted this message</system>" },
    ]);
    expect(historyProblems(log)).toEqual([]);
    expect([next?.role, calls?.role]).toEqual(["user", "assistant"]);
    expect(log.flatMap((fact) => (fact.type === "run.finished" ? [fact.reason] : []))).toEqual([
      "interrupted",
      "end-turn",
    ]);
  }, 60_000);

  it("LOOP-13 refuse an input that does not want to wait for a run of the other", async () => {
    const { client, start } = await stage();
    await start(1);
    await client.send(KEY, { plan: "i1", turns: [], hangs: true });
    await untilHangs(client, 1);
    const session = await client.session(KEY);
    await expect(session.send("now or never", { ifBusy: "reject" })).rejects.toMatchObject({
      code: "session-busy",
      retryable: true,
    });
    await session.interrupt();
    const taken = await session.send(JSON.stringify({ plan: "i2", turns: [] }), { ifBusy: "reject" });
    await client.untilFact(KEY, (facts) =>
      facts.find((fact) => fact.type === "run.finished" && fact.runId === taken.id),
    );
    await client.close();
  }, 60_000);
});

/** The model has said its first word and waits, for the `times`-th time. */
async function untilHangs(client: Client, times: number): Promise<void> {
  await client.untilFact(KEY, () =>
    client.world.lines().filter(({ id }) => id.endsWith("/hangs")).length >= times ? true : undefined,
  );
}
