import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Agent, agent } from "./ports/agent.ts";
import { LIMITS } from "./words/limits.ts";
import { type Plugin, plugin } from "./ports/plugin.ts";
import { scriptedModel } from "./testing/scripted-model.ts";
import { ofType, soon, until } from "./testing/waiting.ts";
import { World } from "./testing/world.ts";
import { flowTool, tool } from "./ports/tool.ts";

const act = { name: "act", description: "Acts.", input: z.object({}), permission: "allow" } as const;
const CALL = { calls: [{ name: "act", input: {} }] };

/** A world whose store writes JSON, as those on a disk do. */
class WritingWorld extends World {
  start(guide: Agent<unknown>) {
    const { store } = this;
    const append: typeof store.append = async (write, options) => {
      JSON.stringify(write);
      return store.append(write, options);
    };
    return this.open({ agents: [guide], work: "all", permission: { mode: "ask" } }, { ...store, append });
  }
}

describe("an error that nobody foresaw", () => {
  it("LOOP-29 G4 G13 of a fact that cannot be written ends the run, once, and the session goes on", async () => {
    const world = new WritingWorld();
    let asked = 0;
    const flow = flowTool({
      ...act,
      flow: async (_input, { plan }) => (asked++, (await plan("it", 5n as never)).allow),
    });
    const model = scriptedModel([(_request, time) => (time === 1 ? CALL : { text: "Fine." })]);
    const runtime = await world.start(agent({ name: "guide", model, instructions: "x", tools: [flow] }));
    const session = await runtime.session<string>({ agent: "guide" });
    const first = await soon((await session.send("Go")).result());
    expect(first).toMatchObject({ reason: "error", error: { code: "run-failed" } });
    expect(await soon((await session.send("More")).text())).toBe("Fine.");
    expect(asked).toBe(1);
    expect(model.requests).toHaveLength(2);
    expect(ofType(await world.log(), "run.finished")).toHaveLength(2);
    await world.close();
  });

  it("LOOP-29 G13 comes again with each run, and is not tried for ever", async () => {
    const world = new WritingWorld();
    let asked = 0;
    const flow = flowTool({
      ...act,
      flow: async (_input, { plan }) => (asked++, (await plan("it", 5n as never)).allow),
    });
    const model = scriptedModel([CALL, CALL, CALL]);
    const runtime = await world.start(agent({ name: "guide", model, instructions: "x", tools: [flow] }));
    const session = await runtime.session<string>({ agent: "guide" });
    for (const run of [1, 2, 3]) {
      expect(await soon((await session.send("Go")).result())).toMatchObject({ reason: "error" });
      expect(asked).toBe(run);
    }
    await world.close();
  });
});

describe("a fold", () => {
  const many = Array.from({ length: LIMITS.snapshotFacts / 2 }, () => ({ ...CALL }));
  const FOLDS: { readonly [what: string]: Plugin } = {
    "that cannot be written": plugin({
      name: "odd",
      fold: { start: 0n, next: (count: bigint) => count + 1n },
    }) as Plugin,
    "that answers later": plugin({
      name: "odd",
      fold: { start: 0, next: (() => Promise.reject(new Error("late"))) as never },
    }) as Plugin,
  };
  for (const [what, odd] of Object.entries(FOLDS)) {
    it(`HOOK-14 DUR-15 G13 ${what} costs neither the run nor the snapshots`, async () => {
      const world = new WritingWorld();
      const safe = tool({ ...act, rerun: "safe", execute: () => "done" });
      const guide = agent({
        name: "guide",
        model: scriptedModel(many),
        instructions: "x",
        tools: [safe],
        plugins: [odd],
        limits: { turns: 200 },
      });
      const runtime = await world.start(guide);
      const session = await runtime.session<string>({ agent: "guide" });
      expect(await soon((await session.send("Go")).text())).toBe("Done.");
      expect(await soon((await session.send("More")).text())).toBe("Done.");
      await until(async () => (await world.store.snapshot(session.id)) !== undefined, "a snapshot");
      await world.close();
    });
  }
});

describe("an input hook that gives", () => {
  const OUTCOMES: { readonly [what: string]: unknown } = {
    nothing: null,
    "an outcome of no known kind": { type: "maybe" },
    "no message": { type: "accept", message: null },
    "a message without parts": { type: "accept", message: { parts: [] } },
    "a message with a call in it": {
      type: "accept",
      message: { parts: [{ type: "tool-call", callId: "c", name: "act", input: {}, by: "capstan" }] },
    },
  };
  for (const [what, outcome] of Object.entries(OUTCOMES)) {
    it(`HOOK-14 G4 ${what} fails its run, and the session goes on`, async () => {
      const world = new WritingWorld();
      let odd = true;
      const hook = plugin({
        name: "odd",
        input: async (message, _context, next) => (odd ? (outcome as never) : next(message)),
      });
      const guide = agent({ name: "guide", model: scriptedModel([]), instructions: "x", plugins: [hook] });
      const runtime = await world.start(guide);
      const session = await runtime.session<string>({ agent: "guide" });
      const result = await soon((await session.send("Go")).result());
      expect(result).toMatchObject({ reason: "error", error: { code: "hook-failed" } });
      odd = false;
      expect(await soon((await session.send("More")).text())).toBe("Done.");
      await world.close();
    });
  }

  it("HOOK-04 another role or id keeps the input the person's", async () => {
    const world = new WritingWorld();
    const message = { id: "other", role: "assistant", parts: [{ type: "text", text: "changed" }] } as const;
    const hook = plugin({ name: "odd", input: async (_message, _context, next) => next(message) });
    const runtime = await world.start(
      agent({ name: "guide", model: scriptedModel([]), instructions: "x", plugins: [hook] }),
    );
    const run = await runtime.send("guide", "Go");
    expect(await soon(run.text())).toBe("Done.");
    const [said] = await run.session.messages();
    expect(said).toEqual({ id: run.inputId, role: "user", parts: [{ type: "text", text: "changed" }] });
    await world.close();
  });

  it("HOOK-14 words that are none says them as text", async () => {
    for (const outcome of [
      { type: "refuse", reason: 5n },
      { type: "answer", text: 5n },
    ] as never[]) {
      const world = new WritingWorld();
      const hook = plugin({ name: "odd", input: () => Promise.resolve(outcome) });
      const runtime = await world.start(
        agent({ name: "guide", model: scriptedModel([]), instructions: "x", plugins: [hook] }),
      );
      const result = await soon((await runtime.send("guide", "Go")).result());
      expect([result.text, result.error?.message]).toContain("5");
      await world.close();
    }
  });
});

describe("a flow that sleeps", () => {
  for (const ms of [Number.NaN, Infinity, 1e300]) {
    it(`DUR-10 ${ms} ms fails, and does not wake up at once`, async () => {
      const world = new WritingWorld();
      const flow = flowTool({ ...act, flow: async (_input, { sleep }) => (await sleep("it", ms), "woke") });
      const model = scriptedModel([CALL, { text: "Fine." }]);
      const runtime = await world.start(agent({ name: "guide", model, instructions: "x", tools: [flow] }));
      await soon((await runtime.send("guide", "Go")).text());
      expect(ofType(await world.log(), "tool.finished")).toMatchObject([{ status: "error" }]);
      await world.close();
    });
  }
});
