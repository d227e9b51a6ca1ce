import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { LIMITS } from "../words/limits.ts";
import { openRuntime, type Runtime } from "../session/runtime.ts";
import type { RuntimeOptions } from "../session/runtime-options.ts";
import type { Store } from "../ports/store.ts";
import { storeEngine } from "./store-engine.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { tool, type Tool } from "../ports/tool.ts";
import { ofType, soon, until } from "../testing/waiting.ts";
import { World } from "../testing/world.ts";

class EngineWorld extends World {
  start(
    turns: readonly ScriptedReply[],
    {
      tools = [],
      store = this.store,
      ...options
    }: Partial<RuntimeOptions> & { readonly tools?: readonly Tool[]; readonly store?: Store } = {},
  ): Promise<Runtime> {
    const guide = agent({ name: "guide", model: scriptedModel(turns), instructions: "x", tools });
    return this.open({ agents: [guide], ...options }, store);
  }
}

describe("taking over", () => {
  it("DUR-01 DUR-08 EDGE-04 goes on at once with what a dead process left, and its late answer is not written", async () => {
    const world = new EngineWorld();
    const gate = Promise.withResolvers<void>();
    const first = await world.start([{ text: "from the dead", hold: gate.promise }]);
    const run = await first.send("guide", "Go");
    await until(async () => ofType(await world.log(), "turn.started").length === 1);
    world.store.kill(await world.owner());
    const second = await world.start([{ text: "from the living" }], { work: "all" });
    const again = await (await second.session<string>(run.session.id)).run();
    await until(async () => ofType(await world.log(), "run.finished").length === 1);
    expect(await soon(again?.text() ?? Promise.reject(new Error("no run")))).toBe("from the living");
    const before = await world.log();
    expect(ofType(before, "run.resumed")).toEqual([expect.objectContaining({ epoch: 2, by: "recovery" })]);
    expect(ofType(before, "turn.started").map(({ attempt }) => attempt)).toEqual([1, 2]);
    gate.resolve();
    await world.clock.advance(10);
    expect(await world.log()).toEqual(before);
    await world.close(first, second);
  });

  it("DUR-08 EDGE-04 a holder whose beat stands still for 10 s is taken over; waking up, it writes nothing and starts nothing", async () => {
    const world = new EngineWorld();
    let frozen = false;
    const beats: Store = { ...world.store, beat: async (owner) => (frozen ? undefined : world.store.beat(owner)) };
    const gate = Promise.withResolvers<string>();
    const ran: string[] = [];
    const effect = (name: string, wait: boolean): Tool =>
      tool({
        name,
        description: "Acts.",
        input: z.object({}),
        rerun: "keyed",
        execute: () => {
          ran.push(name);
          return wait && ran.length === 1 ? gate.promise : "done";
        },
      });
    const turns: ScriptedReply[] = [
      {
        calls: [
          { name: "one", input: {} },
          { name: "two", input: {} },
        ],
      },
      { text: "Ok." },
    ];
    const tools = [effect("one", true), effect("two", false)];
    const first = await world.start(turns, { tools, store: beats });
    await first.send("guide", "Go");
    await until(() => ran.length === 1);
    const second = await world.start(turns, { tools, work: "all" });
    await world.clock.advance(20_000);
    expect(ran).toEqual(["one"]); // as long as it shows signs of life nobody takes over
    frozen = true;
    await world.clock.advance(LIMITS.takeoverMs + 2 * LIMITS.beatMs);
    await until(async () => ofType(await world.log(), "run.finished").length === 1);
    expect(ran).toEqual(["one", "one", "two"]);
    const before = await world.log();
    gate.resolve("late");
    await world.clock.advance(10);
    expect(await world.log()).toEqual(before);
    expect(ran).toHaveLength(3);
    await world.close(first, second);
  });

  it("DUR-08 two processes never drive one session, and each may send to it", async () => {
    const world = new EngineWorld();
    const turns = Array.from({ length: 20 }, (_, index) => ({ text: `answer ${index}` }));
    const [first, second] = [await world.start(turns, { work: "all" }), await world.start(turns, { work: "all" })];
    const session = await first.session({ agent: "guide", key: "k" });
    const other = await second.session<string>({ agent: "guide", key: "k" });
    expect(other.id).toBe(session.id);
    const runs = await Promise.all(
      Array.from({ length: 16 }, (_, index) => (index % 2 === 0 ? session : other).send(`input ${index}`)),
    );
    await soon(Promise.all(runs.map((run) => run.result())));
    const log = await world.log();
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
    expect(ofType(log, "run.finished")).toHaveLength(16);
    expect(ofType(log, "run.resumed")).toEqual([]);
    await world.close(first, second);
  });

  it("work own leaves foreign sessions alone, work none drives nothing", async () => {
    const world = new EngineWorld();
    const idle = await world.start([{ text: "A" }], { work: "none" });
    await idle.send("guide", "Go");
    await world.clock.advance(100);
    expect(await world.log()).toHaveLength(1);
    const own = await world.start([{ text: "A" }]);
    await world.clock.advance(100);
    expect(await world.log()).toHaveLength(1);
    const run = await (await own.session<string>("ses_1")).run();
    await until(async () => ofType(await world.log(), "run.finished").length === 1);
    expect(run).toBeUndefined(); // nothing was in the log yet
    await world.close(idle, own);
  });
});

describe("closing", () => {
  it("LOOP-12 DUR-11 waits for what is in flight, begins nothing new, and the next open goes on", async () => {
    const world = new EngineWorld();
    const gate = Promise.withResolvers<string>();
    const ran: string[] = [];
    const step = (name: string): Tool =>
      tool({
        name,
        description: "Acts.",
        input: z.object({}),
        execute: () => {
          ran.push(name);
          return name === "one" ? gate.promise : "done";
        },
      });
    const tools = [step("one"), step("two")];
    const turns: ScriptedReply[] = [
      {
        calls: [
          { name: "one", input: {} },
          { name: "two", input: {} },
        ],
      },
      { text: "Ok." },
    ];
    const first = await world.start(turns, { tools });
    const run = await first.send("guide", "Go");
    await until(() => ran.length === 1);
    const closed = first.close();
    await world.clock.advance(100);
    gate.resolve("first");
    await soon(closed);
    expect(ran).toEqual(["one"]);
    expect(ofType(await world.log(), "tool.finished")).toEqual([
      expect.objectContaining({ name: "one", status: "ok" }),
    ]);
    expect(ofType(await world.log(), "run.finished")).toEqual([]);
    const second = await world.start(turns, { tools, work: "all" });
    const again = await (await second.session<string>(run.session.id)).run();
    expect(await soon(again?.text() ?? Promise.reject(new Error("no run")))).toBe("Ok.");
    expect(ran).toEqual(["one", "two"]);
    await world.close(second);
  });

  it("LOOP-17 may be called twice, and refuses what comes after", async () => {
    const world = new EngineWorld();
    const runtime = await world.start([{ text: "A" }]);
    const session = await runtime.session({ agent: "guide" });
    await Promise.all([soon(runtime.close()), soon(runtime.close())]);
    await soon(runtime.close());
    await expect(session.send("Hello?")).rejects.toMatchObject({ code: "closed" });
    await expect(runtime.send("guide", "Hello?")).rejects.toMatchObject({ code: "closed" });
  });

  it("LOOP-12 cancels nothing when the grace is over", async () => {
    const world = new EngineWorld();
    const first = await world.start([{ text: "abc", hold: new Promise(() => undefined) }]);
    await first.send("guide", "Go");
    await until(async () => ofType(await world.log(), "turn.started").length === 1);
    const closed = first.close();
    await world.clock.advance(5_600);
    await soon(closed);
    expect(ofType(await world.log(), "run.finished")).toEqual([]);
    const second = await world.start([{ text: "again" }], { work: "all" });
    await until(async () => ofType(await world.log(), "run.finished").length === 1);
    expect(ofType(await world.log(), "run.finished")[0]?.reason).toBe("end-turn");
    await world.close(second);
  });
});

describe("a store out of order", () => {
  it("shows a write that failed, keeps what was acknowledged, and goes on when the store does", async () => {
    const world = new EngineWorld();
    let broken = false;
    const store: Store = {
      ...world.store,
      append: (write, options) =>
        broken ? Promise.reject(new Error("disk on fire")) : world.store.append(write, options),
    };
    const gate = Promise.withResolvers<void>();
    const runtime = await world.start([{ text: "abc", hold: gate.promise }, { text: "abc" }], { store });
    const run = await runtime.send("guide", "Go");
    await until(async () => ofType(await world.log(), "turn.started").length === 1);
    broken = true;
    gate.resolve();
    await world.clock.advance(10);
    expect(ofType(await world.log(), "turn.finished")).toEqual([]);
    broken = false;
    await run.session.send("Are you there?");
    await until(async () => ofType(await world.log(), "run.finished").length === 2);
    await world.close(runtime);
  });

  it("LOOP-05 DUR-10 timers fire also with a store that tells of foreign changes only", async () => {
    const world = new EngineWorld();
    const store: Store = { ...world.store, watch: () => () => undefined };
    const guide = agent({
      name: "guide",
      model: scriptedModel([{ text: "abc", hold: new Promise(() => undefined) }]),
      instructions: "x",
      limits: { wallMs: 1_000 },
    });
    const runtime = await openRuntime({
      agents: [guide],
      engine: storeEngine(store, { clock: world.clock, ids: world.ids }),
      host: { clock: world.clock, ids: world.ids },
    });
    const run = await runtime.send(guide, "Go");
    await until(async () => ofType(await world.log(), "turn.started").length === 1);
    await world.clock.advance(1_000);
    expect(await soon(run.result())).toMatchObject({ reason: "deadline" });
    await world.close(runtime);
  });
});

describe("agents", () => {
  it("EDGE-14 DUR-12 a session whose agent is not here waits, says why, and goes on where it is", async () => {
    const world = new EngineWorld();
    const first = await world.start([], { work: "none" });
    const run = await first.send("guide", "Go");
    const other = agent({ name: "other", model: scriptedModel([]), instructions: "x" });
    const second = await openRuntime({
      agents: [other],
      work: "all",
      engine: storeEngine(world.store, { clock: world.clock, ids: world.ids }),
      host: { clock: world.clock, ids: world.ids },
    });
    await world.clock.advance(100);
    const session = await second.session<string>(run.session.id);
    expect(await world.log()).toHaveLength(1);
    expect(await soon(session.update({ title: "x" }).then(() => "done"))).toBe("done");
    const third = await world.start([{ text: "Here." }], { work: "all" });
    await until(async () => ofType(await world.log(), "run.finished").length === 1);
    await world.close(first, second, third);
  });

  it("SESS-01 tenants see their own sessions, and a key belongs to its tenant", async () => {
    const world = new EngineWorld();
    const runtime = await world.start([{ text: "A" }]);
    const [ada, bob] = ["acme", "bolt"].map((tenant) => runtime.as({ id: tenant, door: "test", tenant }));
    if (ada === undefined || bob === undefined) throw new Error("two tenants");
    const hers = await ada.session({ agent: "guide", key: "chat" });
    const his = await bob.session({ agent: "guide", key: "chat" });
    expect(hers.id).not.toBe(his.id);
    expect((await ada.sessions()).map(({ sessionId }) => sessionId)).toEqual([hers.id]);
    expect((await ada.sessions({ tenant: "bolt" })).map(({ sessionId }) => sessionId)).toEqual([hers.id]);
    await expect(bob.session(hers.id)).rejects.toMatchObject({ code: "session-not-found" });
    expect(await runtime.sessions()).toHaveLength(2);
    const run = await hers.send("Go");
    await soon(run.text());
    const log = await world.log(hers.id);
    expect(ofType(log, "input.accepted")[0]?.actor).toEqual({ id: "acme", door: "test", tenant: "acme" });
    const fork = await hers.fork();
    expect((await ada.sessions()).map(({ sessionId }) => sessionId)).toEqual([fork.id, hers.id]);
    expect(await bob.sessions()).toHaveLength(1);
    await world.close(runtime);
  });

  it("LOOP-17 an open that failed leaves nothing behind on its engine", async () => {
    const world = new EngineWorld();
    const engine = storeEngine(world.store, { clock: world.clock, ids: world.ids });
    const host = { clock: world.clock, ids: world.ids };
    const bad = agent({ name: "guide", model: "nobody/knows", instructions: "x" });
    const good = agent({ name: "guide", model: scriptedModel([{ text: "A" }]), instructions: "x" });
    await expect(openRuntime({ agents: [bad], engine, host })).rejects.toMatchObject({ code: "model-unknown" });
    const runtime = await openRuntime({ agents: [good], engine, host });
    await expect(openRuntime({ agents: [bad], engine, host })).rejects.toMatchObject({ code: "model-unknown" });
    expect(await soon((await runtime.send("guide", "Go")).text())).toBe("A");
    await soon(runtime.close());
    await expect(runtime.send("guide", "Go")).rejects.toMatchObject({ code: "closed" });
  });

  it("LOOP-17 one of two users of a shared engine that closes twice leaves the other alone", async () => {
    const world = new EngineWorld();
    const engine = storeEngine(world.store, { clock: world.clock, ids: world.ids });
    const host = { clock: world.clock, ids: world.ids };
    const guide = agent({ name: "guide", model: scriptedModel([{ text: "A" }]), instructions: "x" });
    const one = await openRuntime({ agents: [guide], engine, host });
    const two = await openRuntime({ agents: [guide], engine, host });
    await soon(one.close());
    await soon(one.close());
    expect(await soon((await two.send("guide", "Go")).text())).toBe("A");
    await world.close(two);
  });
});
