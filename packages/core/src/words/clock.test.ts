import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "vitest";
import { sleep, systemClock } from "./clock.ts";
import { fakeClock } from "../testing/fake-clock.ts";

describe("systemClock", () => {
  it("tells integer milliseconds since 1970 and a time that does not go back", () => {
    assert.ok(Number.isInteger(systemClock.now()) && systemClock.now() > 1_700_000_000_000);
    const first = systemClock.monotonic();
    assert.ok(systemClock.monotonic() >= first);
  });

  it("fires once, also at once for a time that is over", async () => {
    for (const ms of [1, 0, -5]) {
      let count = 0;
      await new Promise<void>((resolve) => {
        systemClock.after(ms, () => {
          count++;
          resolve();
        });
      });
      assert.equal(count, 1);
    }
  });

  it("does not fire what was cancelled, and takes times longer than one timer", async () => {
    const fired: string[] = [];
    const cancelFar = systemClock.after(5_000_000_000, () => void fired.push("far"));
    systemClock.after(1, () => void fired.push("near"), { background: true })();
    await sleep(systemClock, 5);
    cancelFar();
    assert.deepEqual(fired, []);
  });
});

describe("sleep", () => {
  it("resolves after the time and not before", async () => {
    const clock = fakeClock();
    let over = false;
    const sleeping = sleep(clock, 100).then(() => (over = true));
    await clock.advance(99);
    assert.equal(over, false);
    await clock.advance(1);
    await sleeping;
    assert.equal(over, true);
  });

  it("rejects with the reason of a signal that is aborted already, and sets no timer", async () => {
    const clock = fakeClock();
    await assert.rejects(sleep(clock, 100, AbortSignal.abort("before")), (error: unknown) => error === "before");
    assert.equal(clock.pending, 0);
  });

  it("leaves no listener behind", async () => {
    const clock = fakeClock();
    const { signal } = new AbortController();
    const sleeping = sleep(clock, 100, signal);
    assert.equal(getEventListeners(signal, "abort").length, 1);
    await clock.advance(100);
    await sleeping;
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });
});
