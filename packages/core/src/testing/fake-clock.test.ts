import assert from "node:assert/strict";
import { describe, it } from "vitest";
import { sleep } from "../words/clock.ts";
import { fakeClock } from "./fake-clock.ts";
import { fixedIds } from "./fixed-ids.ts";

describe("fakeClock", () => {
  it("stands still until it is moved", async () => {
    const clock = fakeClock(1_000);
    assert.deepEqual([clock.now(), clock.monotonic()], [1_000, 0]);
    await clock.advance(250);
    assert.deepEqual([clock.now(), clock.monotonic()], [1_250, 250]);
  });

  it("fires timers in order of time, then of setting, each at its own time", async () => {
    const clock = fakeClock(0);
    const fired: string[] = [];
    for (const [name, ms] of [
      ["c", 30],
      ["a", 10],
      ["b", 10],
      ["never", 41],
      ["now", -5],
    ] as const) {
      clock.after(ms, () => void fired.push(`${name}@${clock.now()}`));
    }
    assert.equal(clock.pending, 5);
    await clock.advance(40);
    assert.deepEqual(fired, ["now@0", "a@10", "b@10", "c@30"]);
    assert.equal(clock.pending, 1);
  });

  it("lets promises go on between timers, and fires what they set", async () => {
    const clock = fakeClock(0);
    const times: number[] = [];
    const loop = (async () => {
      for (let turn = 0; turn < 3; turn++) {
        await sleep(clock, 100);
        await Promise.resolve();
        times.push(clock.now());
      }
    })();
    await clock.advance(300);
    await loop;
    assert.deepEqual(times, [100, 200, 300]);
  });

  it("does not fire a timer that was cancelled, also by another timer", async () => {
    const clock = fakeClock();
    const fired: string[] = [];
    const cancel = clock.after(20, () => void fired.push("cancelled"));
    clock.after(10, cancel);
    await clock.advance(100);
    assert.deepEqual([fired, clock.pending], [[], 0]);
    cancel();
  });

  it("rejects a sleep whose signal aborts, and leaves no timer", async () => {
    const clock = fakeClock();
    const controller = new AbortController();
    const sleeping = sleep(clock, 100, controller.signal);
    controller.abort("enough");
    await assert.rejects(sleeping, (error: unknown) => error === "enough");
    assert.equal(clock.pending, 0);
  });

  it("ends when a timer sets itself again without end", async () => {
    const clock = fakeClock();
    const again = (): void => void clock.after(0.0001, again);
    again();
    await assert.rejects(clock.advance(100), /timers fired/);
  });
});

describe("fixedIds", () => {
  it("counts for each prefix", () => {
    const ids = fixedIds();
    assert.deepEqual(
      [ids.next("ses"), ids.next("run"), ids.next("ses"), ids.random(), ids.random()],
      ["ses_1", "run_1", "ses_2", "random_1", "random_2"],
    );
  });
});
