import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { systemClock } from "../words/clock.ts";
import type { Json } from "../words/json.ts";
import { memoryStore } from "../store-engine/memory-store.ts";
import { openRuntime } from "../session/runtime.ts";
import type { Store } from "../ports/store.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { fixedIds } from "../testing/fixed-ids.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { soon, until } from "../testing/waiting.ts";
import { flowTool, tool } from "../ports/tool.ts";

const call = (name: string, input: Json = {}): ScriptedReply => ({ calls: [{ name, input }] });
const never = new Promise<void>(() => undefined);

describe("the ends of sub-agents", () => {
  it("SUB-04 gives a result although a child was removed", async () => {
    const inner = agent({ name: "worker", model: scriptedModel([{ text: "42" }]), instructions: "W" });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "x" }), { text: "ok" }]),
      instructions: "L",
      tools: [inner],
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go");
    await run.result();
    const [child] = await runtime.sessions({ parent: run.session.id });
    await (await runtime.session(child?.sessionId ?? "")).remove();
    expect((await run.result()).reason).toBe("end-turn");
  });

  it("SUB-01 ends the task of a child that was removed", async () => {
    const inner = agent({ name: "worker", model: scriptedModel([{ text: "42", hold: never }]), instructions: "W" });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "x" }), { text: "ok" }]),
      instructions: "L",
      tools: [inner],
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go");
    for await (const { event, parent } of run.events({ children: true }))
      if (parent !== undefined && event.type === "text.delta") break;
    const [child] = await runtime.sessions({ parent: run.session.id });
    await (await runtime.session(child?.sessionId ?? "")).remove();
    expect(await soon(run.result())).toMatchObject({ reason: "end-turn" });
  });

  it("SUB-01 says that a run waits although an earlier one left a child in the background", async () => {
    const gate = Promise.withResolvers<void>();
    const inner = agent({
      name: "worker",
      model: scriptedModel([{ text: "42", hold: gate.promise }]),
      instructions: "W",
    });
    const launch = flowTool({
      name: "launch",
      description: "L.",
      input: z.object({}),
      flow: async (_i, c) => (await c.spawn("w", "worker", "go", { background: true })).status,
    });
    const act = tool({ name: "act", description: "Acts.", input: z.object({}), permission: "ask", execute: () => "x" });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("launch"), { text: "launched" }, call("act"), { text: "ok" }]),
      instructions: "L",
      tools: [launch, act],
    });
    await using runtime = await testRuntime({ agents: [lead, inner], permission: { mode: "ask" } });
    const run = await runtime.send(lead, "Go");
    await run.result();
    const second = await run.session.send("Next");
    expect(await soon(second.result())).toMatchObject({ status: "waiting" });
    gate.resolve();
    await run.session.interrupt();
  });

  it("SUB-01 leaves the children of a session to it when it is forked", async () => {
    const inner = agent({ name: "worker", model: scriptedModel([{ text: "42", hold: never }]), instructions: "W" });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "x" }), { text: "ok" }]),
      instructions: "L",
      tools: [inner],
    });
    await using runtime = await testRuntime({ agents: [lead] });
    const run = await runtime.send(lead, "Go");
    for await (const { event, parent } of run.events({ children: true }))
      if (parent !== undefined && event.type === "text.delta") break;
    const fork = await run.session.fork();
    expect((await fork.state()).tasks).toEqual({});
    const { head } = await fork.state();
    const seen: string[] = [];
    const stop = new AbortController();
    const leave = async (): Promise<void> => {
      await until(() => seen.length >= head);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      stop.abort();
    };
    const left = leave();
    for await (const { sessionId } of fork.events({ children: true, signal: stop.signal })) seen.push(sessionId);
    await left;
    expect([...new Set(seen)]).toEqual([fork.id]);
    await run.session.interrupt();
  });

  it("SUB-01 EDGE-01 drives the children of a session that is opened again", async () => {
    const store = memoryStore();
    const ids = fixedIds();
    const make = (hold?: Promise<void>) => {
      const inner = agent({
        name: "worker",
        model: scriptedModel([hold === undefined ? { text: "42" } : { text: "42", hold }]),
        instructions: "W",
      });
      return agent({
        name: "lead",
        model: scriptedModel([call("worker", { task: "x" }), { text: "ok" }]),
        instructions: "L",
        tools: [inner],
      });
    };
    const open = (a: ReturnType<typeof make>) =>
      openRuntime({
        agents: [a],
        engine: storeEngine(store, { clock: systemClock, ids }),
        permission: { mode: "ask" },
        host: { clock: systemClock, ids },
      });
    const one = await open(make(never));
    const run = await one.send("lead", "Go");
    for await (const { event, parent } of run.events({ children: true }))
      if (parent !== undefined && event.type === "text.delta") break;
    await one.close({ graceMs: 0 });
    const two = await open(make());
    const again = await (await two.session(run.session.id)).run();
    expect(await soon(again?.result() ?? Promise.reject(new Error("no run")))).toMatchObject({ reason: "end-turn" });
    await two.close({ graceMs: 0 });
  });

  it("EDGE-05 stops a child that has not begun", async () => {
    const store = memoryStore();
    const gate = Promise.withResolvers<void>();
    const blocked: Store = {
      ...store,
      claim: async (id: string, ...rest: [string, string?]) => {
        const s = await store.summary(id);
        if (s?.parent !== undefined) await gate.promise;
        return store.claim(id, ...rest);
      },
    };
    const ids = fixedIds();
    let asked = 0;
    const inner = agent({
      name: "worker",
      model: scriptedModel([
        () => {
          asked++;
          return { text: "42" };
        },
      ]),
      instructions: "W",
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "x" }), { text: "ok" }]),
      instructions: "L",
      tools: [inner],
    });
    const runtime = await openRuntime({
      agents: [lead],
      engine: storeEngine(blocked, { clock: systemClock, ids }),
      permission: { mode: "ask" },
      host: { clock: systemClock, ids },
    });
    const run = await runtime.send("lead", "Go");
    for await (const { event } of run.events()) if (event.type === "run.suspended") break;
    await run.session.interrupt();
    gate.resolve();
    const [child] = await runtime.sessions({ parent: run.session.id });
    await until(async () => (await store.mail(child?.sessionId ?? "")).length === 0);
    expect((await store.summary(child?.sessionId ?? ""))?.status).toBe("idle");
    expect(asked).toBe(0);
    await runtime.close({ graceMs: 0 });
  });

  it("EDGE-01 takes a task by its name when the flow words it anew after a restart", async () => {
    const store = memoryStore();
    const ids = fixedIds();
    const make = (word: string, hold?: Promise<void>) => {
      const inner = agent({
        name: "worker",
        model: scriptedModel([hold === undefined ? { text: "42" } : { text: "42", hold }]),
        instructions: "W",
      });
      const f = flowTool({
        name: "f",
        description: "F.",
        input: z.object({}),
        flow: async (_i, c) => (await c.spawn("w", "worker", word)).text,
      });
      return [
        agent({ name: "lead", model: scriptedModel([call("f"), { text: "ok" }]), instructions: "L", tools: [f] }),
        inner,
      ];
    };
    const open = (a: ReturnType<typeof make>) =>
      openRuntime({
        agents: a,
        engine: storeEngine(store, { clock: systemClock, ids }),
        permission: { mode: "ask" },
        work: "all",
        host: { clock: systemClock, ids },
      });
    const one = await open(make("one", never));
    const run = await one.send("lead", "Go");
    for await (const { event, parent } of run.events({ children: true }))
      if (parent !== undefined && event.type === "text.delta") break;
    await one.close({ graceMs: 0 });
    const two = await open(make("two"));
    await (await two.session(run.session.id)).send("more");
    const again = await (await two.session(run.session.id)).run(run.id);
    expect(await soon(again?.result() ?? Promise.reject(new Error("no run")))).toMatchObject({
      reason: "end-turn",
      text: "ok",
    });
    await two.close({ graceMs: 0 });
  });

  it("SUB-01 refuses what is asked for in one breath beyond the limit", async () => {
    const inner = agent({ name: "worker", model: scriptedModel([{ text: "42" }]), instructions: "W" });
    let refused = 0;
    const f = flowTool({
      name: "f",
      description: "F.",
      input: z.object({}),
      flow: async (_i, c) => {
        const all = await Promise.allSettled(
          Array.from({ length: 260 }, (_x, i) => c.spawn(`w${i}`, "worker", "go", { background: true })),
        );
        refused = all.filter(({ status }) => status === "rejected").length;
        return "x";
      },
    });
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("f"), { text: "ok" }]),
      instructions: "L",
      tools: [f],
    });
    const store = memoryStore();
    const childless: Store = {
      ...store,
      claim: async (id, owner, replacing) =>
        (await store.summary(id))?.parent === undefined ? store.claim(id, owner, replacing) : undefined,
    };
    const ids = fixedIds();
    const engine = storeEngine(childless, { clock: systemClock, ids });
    await using runtime = await openRuntime({ agents: [lead, inner], engine, host: { clock: systemClock, ids } });
    await (await runtime.send(lead, "Go")).result();
    expect(refused).toBe(4);
  });

  it("SUB-04 tells of an error that ends the hold of a child", async () => {
    const inner = agent({ name: "worker", model: scriptedModel([{ text: "42" }]), instructions: "W" });
    const store = memoryStore();
    const ids = fixedIds();
    const lead = agent({
      name: "lead",
      model: scriptedModel([call("worker", { task: "x" }), { text: "ok" }]),
      instructions: "L",
      tools: [inner],
    });
    const bad: Store = {
      ...store,
      append: async (write, options) => {
        const s = await store.summary(write.sessionId);
        if (s?.parent !== undefined) throw new Error("disk full");
        return store.append(write, options);
      },
    };
    const runtime = await openRuntime({
      agents: [lead],
      engine: storeEngine(bad, { clock: systemClock, ids }),
      permission: { mode: "ask" },
      host: { clock: systemClock, ids },
    });
    const run = await runtime.send("lead", "Go");
    expect(await soon(run.result())).toMatchObject({ status: "waiting" });
    await runtime.close({ graceMs: 0 });
  });
});
