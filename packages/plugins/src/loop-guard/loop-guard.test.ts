import { tool } from "@capstan/core";
import { crashSweep, type ScriptedReply } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { call, play, type Played, workerOf } from "../file-world.ts";
import { loopGuard, type LoopGuardOptions } from "./index.ts";

const input = z.object({ at: z.string().default("x") });
const fixed = (name: string) =>
  tool({ name, description: "Looks.", input, rerun: "safe", execute: ({ at }) => `saw ${at}` });
function counting() {
  let count = 0;
  return tool({ name: "count", description: "Counts.", input, rerun: "never", execute: () => `${++count}` });
}
const failing = tool({
  name: "fail",
  description: "Fails.",
  input,
  rerun: "safe",
  execute: ({ at }) => {
    throw new Error(at.startsWith("new") ? `no ${at}` : "not found");
  },
});
const times = (count: number, ...turns: readonly ScriptedReply[]): readonly ScriptedReply[] =>
  Array.from({ length: count }, (_, index) => turns[index % turns.length] ?? { text: "Done." });
const turn = (name: string, at = "x"): ScriptedReply => ({ calls: [call(name, { at })] });

async function played(turns: readonly ScriptedReply[], options: LoopGuardOptions = { warnAfter: 2, endAfter: 4 }) {
  return play({ tools: [fixed("look"), fixed("wait"), counting(), failing], plugins: [loopGuard(options)], turns });
}
const end = ({ log }: Played) => log.at(-1);
/** Numbers of the requests that carried a warning. */
const warned = ({ heard }: Played) =>
  heard.flatMap((said, index) => (said.includes("brought nothing") ? [index + 1] : []));

describe("loopGuard", () => {
  it("LOOP-35 warns, then ends a run that makes the same call with the same result", async () => {
    const run = await played(times(20, turn("look")));
    expect(warned(run)).toEqual([4, 5]); // the first turn was new, two brought nothing
    expect(end(run)).toMatchObject({
      type: "run.finished",
      reason: "error",
      turns: 5,
      error: { code: "limit-reached", message: "The run was ended: 4 turns in a row brought nothing new" },
    });
  });

  it("LOOP-35 sees through a circle of several calls", async () => {
    const run = await played(
      times(20, turn("look", "a"), turn("look", "b"), {
        calls: [call("look", { at: "a" }), call("look", { at: "c" })],
      }),
    );
    expect(end(run)).toMatchObject({ turns: 7, error: { code: "limit-reached" } });
  });

  it("LOOP-35 does not take repetition for a loop while results differ, or something new is done in between", async () => {
    const changing = await played([...times(10, turn("count")), { text: "Done." }]);
    expect([warned(changing), end(changing)]).toMatchObject([[], { reason: "end-turn", turns: 11 }]);
    const working = await played([
      ...Array.from({ length: 10 }, (_, index) => turn("look", index % 2 === 0 ? "test" : `fix ${index}`)),
      { text: "Done." },
    ]);
    expect([warned(working), end(working)]).toMatchObject([[], { reason: "end-turn" }]);
  });

  it("LOOP-35 takes the same error for the same, whatever the arguments, and another error for news", async () => {
    const same = await played(Array.from({ length: 20 }, (_, index) => turn("fail", `${index}`)));
    expect(end(same)).toMatchObject({ turns: 5, error: { code: "limit-reached" } });
    const other = await played([
      ...Array.from({ length: 8 }, (_, index) => turn("fail", `new ${index}`)),
      { text: "Done." },
    ]);
    expect([warned(other), end(other)]).toMatchObject([[], { reason: "end-turn" }]);
  });

  it("LOOP-35 is quiet once the model does something else, and says it anew the next time", async () => {
    const run = await played([
      ...times(3, turn("look")),
      turn("look", "b"),
      ...times(2, turn("look")),
      { text: "Done." },
    ]);
    expect(warned(run)).toEqual([4, 7]);
    expect(end(run)).toMatchObject({ reason: "end-turn" });
  });

  it("LOOP-35 leaves tools that wait alone, and begins anew in every run", async () => {
    const polling = await played([...times(10, turn("wait")), { text: "Done." }], {
      warnAfter: 2,
      endAfter: 4,
      polling: ["wait"],
    });
    expect([warned(polling), end(polling)]).toMatchObject([[], { reason: "end-turn" }]);
    const runs = await play({
      tools: [fixed("look")],
      plugins: [loopGuard({ warnAfter: 2, endAfter: 4 })],
      inputs: ["one", "two"],
      turns: [turn("look"), turn("look"), { text: "ok" }, turn("look"), turn("look"), { text: "ok" }],
    });
    expect(warned(runs)).toEqual([]);
  });

  it("LOOP-35 leaves a session that takes the next input after it ended a run", async () => {
    const run = await play({
      tools: [fixed("look")],
      plugins: [loopGuard({ warnAfter: 1, endAfter: 2 })],
      inputs: ["one", "two"],
      turns: [...times(3, turn("look")), { text: "Better." }],
    });
    expect(end(run)).toMatchObject({ reason: "end-turn", turns: 1 });
  });

  it("LOOP-35 comes to the same end after a crash at any write", async () => {
    const { worker } = workerOf({
      tools: [fixed("look")],
      plugins: [loopGuard({ warnAfter: 1, endAfter: 3 })],
      turns: times(9, turn("look")),
    });
    await crashSweep({ agents: [worker], journey: (runtime) => runtime.send(worker, "Go", { idempotencyKey: "go" }) });
  });

  it("refuses bounds that are none", () => {
    for (const options of [{ warnAfter: 0 }, { warnAfter: 6 }, { endAfter: 2.5 }]) {
      expect(() => loopGuard(options)).toThrowError(expect.objectContaining({ code: "plugin-invalid" }));
    }
  });
});
