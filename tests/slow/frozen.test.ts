import { LIMITS, systemClock } from "@capstan/core";
import { afterEach, describe, expect, it } from "vitest";
import { Client } from "../harness/client.ts";
import { judge } from "../harness/judge.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";
import { killAllWorkers, warmUp, WorkerProcess } from "../harness/worker-process.ts";
import type { WorkerOptions } from "../harness/worker.ts";

const KEY = "k0";

afterEach(killAllWorkers);

describe("a worker that was frozen", () => {
  for (const at of ["while the model answers", "while a tool works"] as const) {
    it(`EDGE-04 DUR-08 G3 G6 ${at} is taken over when its beat stands still, and writes nothing when it wakes up`, async () => {
      const folder = temporaryFolder();
      const options: WorkerOptions = { folder, durability: "full", seed: 1, paceMs: 0 };
      await warmUp();
      const client = await Client.open({ folder, durability: "full", seed: 3, careful: true });
      const model = at === "while the model answers";
      const first = await started({ ...options, paceMs: model ? 300 : 1_200 });
      const turns = [
        ["never", "keyed"],
        ["never", "flow"],
        ["side", "safe"],
      ] as const;
      await client.send(KEY, { plan: "i1", turns });
      await client.untilFact(KEY, (facts) =>
        model ? client.world.lines().at(0) : facts.find(({ type }) => type === "tool.started"),
      );
      first.freeze();
      const frozenAt = systemClock.now();
      const begun = new Set(
        (await client.logs()).flatMap(({ facts }) =>
          facts.map((fact) => (fact.type === "tool.started" ? fact.callId : "")),
        ),
      );

      const second = await started({ ...options, seed: 2 });
      await client.untilRest();
      const before = (await client.logs())[0]?.facts ?? [];
      const tookMs = (before.find(({ type }) => type === "run.resumed")?.at ?? Infinity) - frozenAt;
      const thawedAt = systemClock.now(); // before: it goes on at once
      first.thaw();
      const refused = await first.until("refused");
      await client.send(KEY, { plan: "i2", turns: [["never"]] });
      await client.untilRest();

      const verdict = await judge(client);
      const after = (await client.logs())[0]?.facts ?? [];
      const late = client.world.lines().filter((line) => line.pid === first.pid && line.at >= thawedAt);
      await client.close();
      console.log(`frozen ${at}: taken over after ${tookMs} ms, its write was refused with ${refused.code}`);
      expect(refused.code).toBe("lost-ownership");
      expect(tookMs).toBeGreaterThanOrEqual(LIMITS.takeoverMs - 2 * LIMITS.beatMs);
      expect(tookMs).toBeLessThan(LIMITS.takeoverMs + 4 * LIMITS.beatMs);
      expect(after.slice(0, before.length)).toEqual(before);
      expect(
        late.filter(({ id }) => !begun.has(id) && !begun.has(id.split("/step/")[0]?.slice("call/".length) ?? "")),
      ).toEqual([]);
      // a call that was begun before the freeze may happen late: that is what its doubt says
      const honest = verdict.problems.filter((problem) => !late.some(({ id }) => problem.startsWith(`${id} `)));
      expect(honest).toEqual([]);
      expect(await second.end()).toBe("");
    }, 60_000);
  }
});

async function started(options: WorkerOptions): Promise<WorkerProcess> {
  const worker = new WorkerProcess(options);
  await worker.until("loaded");
  worker.go();
  await worker.until("up");
  return worker;
}
