import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock, type Clock } from "@capstan/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { anchorKeeper } from "./anchor-keeper.ts";
import { readAnchors } from "./anchor.ts";

describe("anchorKeeper", () => {
  it("G7 never anchors what a barrier did not put on disk", async () => {
    const { path, clock } = fixture();
    let disk = Promise.withResolvers<void>();
    const keeper = anchorKeeper({ path, clock, barrier: () => disk.promise });
    keeper.wrote({ sessionId: "a", number: 1, head: 4 }, { synced: false, finished: true });
    disk.reject(new Error("no sync"));
    await keeper.close();
    expect(readAnchors(path).size).toBe(0);
    disk = Promise.withResolvers();
    disk.resolve();
    await keeper.close();
    expect(heads(path)).toEqual([4]);
  });

  it("anchors a synced end of a run without a barrier, and many in few writes", async () => {
    const { path, clock } = fixture();
    const barrier = () => Promise.reject(new Error("not needed"));
    const keeper = anchorKeeper({ path, clock, barrier });
    for (let number = 1; number <= 50; number += 1) {
      keeper.wrote({ sessionId: `s${number}`, number, head: number }, { synced: true, finished: true });
    }
    await keeper.close();
    expect(heads(path)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
    expect(fs.readFileSync(path, "utf8").split("\n\n").length).toBeLessThanOrEqual(2);
  });

  it("tries again later when the file cannot be written", async () => {
    const { path, clock, fire } = fixture();
    fs.mkdirSync(path);
    const keeper = anchorKeeper({ path, clock, barrier: async () => {} });
    keeper.wrote({ sessionId: "a", number: 1, head: 4 }, { synced: true, finished: true });
    const again = await fire();
    fs.rmdirSync(path);
    again();
    await keeper.close();
    expect(heads(path)).toEqual([4]);
  });

  it("G7 anchors a head that is dirty for 5 s, also after a time when there was nothing to anchor", async () => {
    const { path, clock, fire } = fixture();
    const keeper = anchorKeeper({ path, clock, barrier: async () => {} });
    const anchor = { sessionId: "a", number: 1, head: 4 };
    keeper.wrote(anchor, { synced: false, finished: false });
    const idle = await fire();
    await keeper.removing(anchor);
    idle(); // nothing is left to do
    keeper.wrote({ sessionId: "b", number: 2, head: 7 }, { synced: false, finished: false });
    (await fire())();
    await until(() => heads(path).includes(7));
    keeper.wrote({ sessionId: "b", number: 2, head: 9 }, { synced: true, finished: true });
    await until(() => heads(path).includes(9));
    await keeper.close();
  });

  it("G7 anchors a head whose time came while another was being anchored", async () => {
    const { path, clock, fire } = fixture();
    const keeper = anchorKeeper({ path, clock, barrier: async () => {} });
    keeper.wrote({ sessionId: "a", number: 1, head: 4 }, { synced: true, finished: true });
    keeper.wrote({ sessionId: "b", number: 2, head: 7 }, { synced: false, finished: false });
    (await fire())();
    (await fire())(); // set again: the first came too early
    await until(() => heads(path).includes(7));
    await keeper.close();
  });

  it("sets no timer once it is closed", async () => {
    const { path, clock, timers } = fixture();
    const keeper = anchorKeeper({ path, clock, barrier: async () => {} });
    await keeper.close();
    keeper.wrote({ sessionId: "a", number: 1, head: 4 }, { synced: false, finished: false });
    expect(timers()).toBe(0);
  });
});

/** A path of its own, and a clock whose timers the test fires. */
function fixture() {
  const folder = fs.mkdtempSync(join(tmpdir(), "capstan-anchor-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  let set = 0;
  let armed = Promise.withResolvers<() => void>();
  const clock: Clock = {
    ...systemClock,
    after(ms, run) {
      if (ms !== 5_000) throw new Error(`a timer of ${ms} ms`);
      set += 1;
      armed.resolve(run);
      return () => {};
    },
  };
  const fire = async (): Promise<() => void> => {
    const run = await armed.promise;
    armed = Promise.withResolvers();
    return run;
  };
  return { path: join(folder, "anchor"), clock, fire, timers: () => set };
}

function heads(path: string): readonly number[] {
  return [...readAnchors(path).values()].map(({ head }) => head);
}

/** Turns of the event loop, in which the disk does its part. */
async function until(ready: () => boolean): Promise<void> {
  while (!ready()) await new Promise((resolve) => setImmediate(resolve));
}
