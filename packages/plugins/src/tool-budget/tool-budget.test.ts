import { agent, type Plugin, tool } from "@capstan/core";
import { crashSweep, scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { call, play, resultsOf, workerOf } from "../file-world.ts";
import { toolBudget, type ToolBudgetOptions } from "./index.ts";

const input = z.object({ n: z.number().default(0) });
function lookTool(ran: number[] = []) {
  return tool({
    name: "look",
    description: "Looks.",
    input,
    rerun: "safe",
    async execute({ n }) {
      ran.push(n);
      await Promise.resolve();
      return `saw ${n}`;
    },
  });
}
const look = (n: number) => call("look", { n });
const blocked = "look error: Not done: this run may call look 2 times, and has. Go on with what you have.";

describe("toolBudget", () => {
  it("TOOL-17 blocks beyond the bound, exactly, also among parallel calls of one turn", async () => {
    const ran: number[] = [];
    const { results } = await play({
      tools: [lookTool(ran)],
      plugins: [toolBudget({ calls: { look: { max: 2, onExceed: "block" } } })],
      turns: [{ calls: [look(1), look(2), look(3), look(4)] }, { calls: [look(5)] }],
    });
    expect(results).toEqual(["look ok: saw 1", "look ok: saw 2", blocked, blocked, blocked]);
    expect(ran).toEqual([1, 2]);
  });

  it("TOOL-17 stays atomic behind a plugin that awaits first", async () => {
    const ran: number[] = [];
    const slow: Plugin = {
      name: "slow",
      async tool(hooked, _context, next) {
        for (let turn = 0; turn < 5; turn++) await Promise.resolve();
        return next(hooked);
      },
    };
    const { results } = await play({
      tools: [lookTool(ran)],
      plugins: [slow, toolBudget({ calls: { look: { max: 2, onExceed: "block" } } }), { ...slow, name: "slower" }],
      turns: [{ calls: [look(1), look(2), look(3)] }],
    });
    expect(results).toEqual(["look ok: saw 1", "look ok: saw 2", blocked]);
  });

  it("TOOL-17 steers: the call runs, and the next model call alone is told", async () => {
    const { results, model } = await play({
      tools: [lookTool()],
      plugins: [toolBudget({ calls: { look: 1 } })],
      turns: [{ calls: [look(1), look(2)] }, { calls: [look(3)] }, { text: "Done." }],
    });
    expect(results).toEqual(["look ok: saw 1", "look ok: saw 2", "look ok: saw 3"]);
    const told = model.requests.map(({ messages }) => JSON.stringify(messages).match(/called look \d times/g));
    expect(told).toEqual([null, ["called look 2 times"], ["called look 3 times"]]);
    // the tail stands behind what is cached: what was said before has not changed
    const [, second, third] = model.requests;
    expect(third?.messages.slice(0, 3)).toEqual(second?.messages.slice(0, 3));
  });

  it("TOOL-17 asks a function for mode and message", async () => {
    const uses: unknown[] = [];
    const { results, heard } = await play({
      tools: [lookTool()],
      plugins: [
        toolBudget({
          calls: {
            look: {
              max: 1,
              onExceed: (use) => {
                uses.push(use);
                return use.count > 1
                  ? { mode: "block", message: "No more." }
                  : { mode: "steer", message: "Slow down." };
              },
            },
          },
        }),
      ],
      turns: [{ calls: [look(1), look(2), look(3)] }],
    });
    expect(uses).toEqual([
      { tool: "look", count: 1, max: 1 },
      { tool: "look", count: 2, max: 1 },
    ]);
    expect(results).toEqual(["look ok: saw 1", "look ok: saw 2", "look error: No more."]);
    expect(heard[1]).toBe("<system>Slow down.</system>");
  });

  it("TOOL-17 counts anew in every run, and not what was refused", async () => {
    const guarded = tool({
      name: "look",
      description: "Looks.",
      input,
      permission: ({ n }) => (n === 9 ? "deny" : "allow"),
      execute: ({ n }) => `saw ${n}`,
    });
    const { results } = await play({
      tools: [guarded],
      plugins: [toolBudget({ calls: { look: { max: 1, onExceed: "block" } } })],
      inputs: ["one", "two"],
      turns: [{ calls: [look(9)] }, { calls: [look(1)] }, { text: "ok" }, { calls: [look(2)] }, { text: "ok" }],
    });
    expect(results.slice(1)).toEqual(["look ok: saw 1", "look ok: saw 2"]);
    expect(results[0]).toContain("look denied");
  });

  it("TOOL-17 a sub-agent has a count of its own", async () => {
    const child = agent({
      name: "child",
      model: scriptedModel([{ calls: [look(1), look(2)] }, { text: "Child done." }]),
      instructions: "x",
      tools: [lookTool()],
    });
    const parent = agent({
      name: "parent",
      model: scriptedModel([{ calls: [look(1), call("child", { task: "go" })] }, { text: "Done." }]),
      instructions: "x",
      tools: [lookTool(), child],
      plugins: [toolBudget({ calls: { look: { max: 1, onExceed: "block" } } })],
    });
    await using runtime = await testRuntime({ agents: [parent] });
    await (await runtime.send(parent, "Go")).text();
    const [childSession] = (await runtime.sessions()).filter(({ agent: name }) => name === "child");
    const log = await runtime.store.read(childSession?.sessionId ?? "", { after: 0, limit: 1_000 });
    // the parent's call was not charged to it; the bound holds for it too
    expect(resultsOf(log)).toEqual(["look ok: saw 1", expect.stringContaining("look error: Not done")]);
  });

  it("TOOL-18 tells the model to sum up after a turn whose results exceed the bytes", async () => {
    const long = tool({ name: "long", description: "Long.", input, rerun: "safe", execute: ({ n }) => "é".repeat(n) });
    const { heard } = await play({
      tools: [long],
      plugins: [toolBudget({ outputBytesPerTurn: 1_000 })],
      turns: [
        { calls: [call("long", { n: 500 })] },
        { calls: [call("long", { n: 300 }), call("long", { n: 250 })] },
        { calls: [call("long", { n: 1 })] },
      ],
    });
    expect(heard[1]).not.toContain("<system>");
    expect(heard[2]).toBe(
      "<system>The tools of the last turn returned 1,100 bytes; up to 1,000 are meant for one turn. Sum up what matters of it before you call more tools, and ask for less at a time.</system>",
    );
    expect(heard[3]).not.toContain("<system>");
  });

  it("TOOL-17 TOOL-18 comes to the same end after a crash at any write", async () => {
    const turns = [{ calls: [look(1), look(2), look(3)] }, { calls: [look(4)] }];
    for (const onExceed of ["block", "steer"] as const) {
      const { worker } = workerOf({
        tools: [lookTool()],
        turns,
        plugins: [toolBudget({ calls: { look: { max: 2, onExceed } }, outputBytesPerTurn: 5 })],
      });
      const report = await crashSweep({
        agents: [worker],
        journey: (runtime) => runtime.send(worker, "Go", { idempotencyKey: "go" }),
      });
      expect(report.crashes).toBeGreaterThan(20);
    }
  });

  it("refuses what is no bound, also from a function", async () => {
    const wrong: readonly unknown[] = [
      { calls: { look: -1 } },
      { calls: { look: 1.5 } },
      { calls: { look: { max: 1, onExceed: "shout" } } },
      { outputBytesPerTurn: Number.NaN },
    ];
    for (const options of wrong) {
      expect(() => toolBudget(options as ToolBudgetOptions)).toThrowError(
        expect.objectContaining({ code: "plugin-invalid" }),
      );
    }
    const broken = toolBudget({ calls: { look: { max: 0, onExceed: (() => "no") as never } } });
    const { log } = await play({ tools: [lookTool()], plugins: [broken], turns: [{ calls: [look(1)] }] });
    expect(log.at(-1)).toMatchObject({ type: "run.finished", error: { code: "plugin-invalid" } });
  });
});
