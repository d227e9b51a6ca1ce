import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { LIMITS } from "../words/limits.ts";
import type { Model } from "../ports/model.ts";
import { openRuntime, type Runtime } from "../session/runtime.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { ofType, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";
import { tool } from "../ports/tool.ts";

const GO = { type: "permission", allow: true } as const;

function guideOf(turns: readonly ScriptedReply[]) {
  const pay = tool({
    name: "pay",
    description: "Pays.",
    input: z.object({}),
    permission: "ask",
    execute: () => "paid",
  });
  return agent({ name: "guide", model: scriptedModel(turns), instructions: "x", tools: [pay] });
}

class AskingWorld extends World {
  start(options: Partial<RuntimeOptions> = {}): Promise<Runtime> {
    const agents = [guideOf([{ calls: [{ name: "pay", input: {} }] }, { text: "Paid." }])];
    return this.open({ agents, permission: { mode: "ask" }, ...options });
  }
}

describe("onRequest", () => {
  it("PERM-07 DUR-06 may take longer than a waiting hold is kept", async () => {
    const world = new AskingWorld();
    const answer = Promise.withResolvers<typeof GO>();
    const asked: string[] = [];
    const runtime = await world.start({ onRequest: ({ requestId }) => (asked.push(requestId), answer.promise) });
    const run = await runtime.send("guide", "Go");
    await until(() => asked.length === 1);
    await world.clock.advance(10 * LIMITS.parkAfterMs);
    answer.resolve(GO);
    expect(await soon(run.text())).toBe("Paid.");
    expect(asked).toHaveLength(1);
    await world.close();
  });

  for (const left of ["has parked", "still holds it"] as const) {
    it(`DUR-06 PERM-08 of a process opened later takes up what waits, while the one that asked ${left}`, async () => {
      const world = new AskingWorld();
      const first = await world.start();
      const run = await first.send("guide", "Go", { key: "k" });
      expect((await soon(run.result())).status).toBe("waiting");
      if (left === "has parked") await world.clock.advance(LIMITS.parkAfterMs + 1);
      const second = await world.start({ onRequest: () => Promise.resolve(GO) });
      const session = await second.session<string>({ agent: "guide", key: "k" });
      if (left === "still holds it") await world.clock.advance(LIMITS.parkAfterMs + 2 * LIMITS.beatMs);
      expect(await soon((await session.run())?.text() ?? Promise.reject(new Error("no run")))).toBe("Paid.");
      expect(ofType(await world.log(), "request.resolved")).toMatchObject([{ by: { id: "on-request" } }]);
      await world.close();
    });
  }
});

describe("the model of a session", () => {
  it("MODEL-07 SESS-07 may be changed while a run goes on: the next turn asks the new one", async () => {
    const world = new AskingWorld();
    const working = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<string>();
    const work = tool({
      name: "work",
      description: "Works.",
      input: z.object({}),
      rerun: "safe",
      execute: () => (working.resolve(), gate.promise),
    });
    const models: { readonly [name: string]: Model } = {
      "a/old": scriptedModel([{ calls: [{ name: "work", input: {} }] }, { text: "Old." }], { id: "a/old" }),
      "b/new": scriptedModel([{ text: "Unused." }, { text: "New." }], { id: "b/new" }),
    };
    const resolveModel = (name: string): Promise<Model> => Promise.resolve(models[name] ?? scriptedModel([]));
    const runtime = await openRuntime({
      agents: [agent({ name: "guide", model: "a/old", instructions: "x", tools: [work] })],
      engine: storeEngine(world.store, { clock: world.clock, ids: world.ids }),
      host: { clock: world.clock, ids: world.ids, resolveModel },
    });
    const session = await runtime.session({ agent: "guide", key: "k" });
    const run = await session.send("Go");
    await soon(working.promise);
    await soon(session.update({ model: "b/new" }));
    gate.resolve("worked");
    expect(await soon(run.text())).toBe("New.");
    expect(ofType(await world.log(), "turn.finished").map(({ model }) => model)).toEqual(["a/old", "b/new"]);
    const closed = runtime.close({ graceMs: 0 });
    await world.clock.advance(1_000);
    await soon(closed);
  });
});

describe("a runtime opened twice on one engine", () => {
  it("DUR-12 takes the newer agent of a name, from the next run on", async () => {
    const world = new AskingWorld();
    const engine = storeEngine(world.store, { clock: world.clock, ids: world.ids });
    const host = { clock: world.clock, ids: world.ids };
    const gate = Promise.withResolvers<void>();
    const first = await openRuntime({ agents: [guideOf([{ text: "Old.", hold: gate.promise }])], engine, host });
    const session = await first.session({ agent: "guide", key: "k" });
    const one = await session.send("one");
    await until(async () => ofType(await world.log(), "turn.started").length === 1);
    const second = await openRuntime({ agents: [guideOf([{ text: "Unused." }, { text: "New." }])], engine, host });
    gate.resolve();
    expect(await soon(one.text())).toBe("Old.");
    expect(await soon((await session.send("two")).text())).toBe("New.");
    expect(await soon((await (await second.session<string>(session.id)).send("three")).text())).toBe("Done.");
    await soon(first.close({ graceMs: 0 }));
    expect(await soon((await (await second.session<string>(session.id)).send("four")).text())).toBe("Done.");
    const closed = second.close({ graceMs: 0 });
    await world.clock.advance(1_000);
    await soon(closed);
  });

  it("EDGE-14 takes up a session that waited for its agent", async () => {
    const world = new AskingWorld();
    const before = await world.start();
    const session = await before.session({ agent: "guide", key: "k" });
    await world.close();
    const engine = storeEngine(world.store, { clock: world.clock, ids: world.ids });
    const host = { clock: world.clock, ids: world.ids };
    const other = agent({ name: "other", model: scriptedModel([]), instructions: "x" });
    const first = await openRuntime({ agents: [other], engine, host, work: "all" });
    const run = await (await first.session<string>(session.id)).send("Go");
    expect(await soon(run.result())).toMatchObject({ status: "waiting", error: { code: "agent-unknown" } });
    const second = await openRuntime({ agents: [guideOf([{ text: "Here." }])], engine, host });
    expect(await soon(run.text())).toBe("Here.");
    for (const runtime of [first, second]) {
      const closed = runtime.close({ graceMs: 0 });
      await world.clock.advance(1_000);
      await soon(closed);
    }
  });
});
