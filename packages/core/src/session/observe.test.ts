import { describe, expect, it } from "vitest";
import { agent } from "../ports/agent.ts";
import { cursorOf, type Envelope, isLive } from "../words/event.ts";
import { LIMITS } from "../words/limits.ts";
import { type Plugin, plugin } from "../ports/plugin.ts";
import { scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { soon, until } from "../testing/waiting.ts";

const never = new Promise<never>(() => undefined);

async function open(plugins: readonly Plugin[], turns: readonly ScriptedReply[] = [{ text: "Ok." }]) {
  const guide = agent({ name: "guide", model: scriptedModel(turns), instructions: "x", plugins });
  return { guide, runtime: await testRuntime({ agents: [guide] }) };
}

/** Collects what it is given; `ended` when it saw the end of a run. */
function collector(name: string, wait?: (envelope: Envelope) => Promise<void> | undefined) {
  const seen: Envelope[] = [];
  const watch = plugin({
    name,
    on: (envelope) => {
      seen.push(envelope);
      return wait?.(envelope);
    },
  });
  return { seen, watch, ended: () => seen.some(({ event }) => event.type === "run.finished") };
}

describe("the on hook", () => {
  it("HOOK-11 one that waits holds up neither the run nor other plugins, and has its own queue", async () => {
    const gate = Promise.withResolvers<void>();
    const slow = collector("slow", ({ event }) => (event.type === "run.started" ? gate.promise : undefined));
    const quick = collector("quick");
    const { guide, runtime } = await open([slow.watch, quick.watch]);
    expect((await soon((await runtime.send(guide, "Go")).result())).text).toBe("Ok.");
    await until(quick.ended);
    expect(slow.seen.at(-1)?.event.type).toBe("run.started");
    gate.resolve();
    await until(slow.ended);
    expect(slow.seen.map(({ event }) => event)).toEqual(quick.seen.map(({ event }) => event));
    await runtime.close();
  });

  it("HOOK-11 the queue is bounded: who falls far behind gets every fact once, in order, and the text whole", async () => {
    const gate = Promise.withResolvers<void>();
    const text = "word ".repeat(LIMITS.subscriberEvents);
    const slow = collector("slow", ({ event }) => (event.type === "turn.started" ? gate.promise : undefined));
    const { guide, runtime } = await open([slow.watch], [{ text, deltas: LIMITS.subscriberEvents * 2 }]);
    const run = await runtime.send(guide, "Go");
    await soon(run.result());
    gate.resolve();
    await until(slow.ended);
    const cursors = slow.seen.map(({ event }) => cursorOf(event));
    expect(new Set(cursors).size).toBe(cursors.length);
    const facts = slow.seen.flatMap(({ event }) => (isLive(event) ? [] : [event.seq]));
    expect(facts).toEqual(facts.map((_seq, index) => (facts[0] ?? 0) + index));
    expect(slow.seen.length).toBeLessThan(LIMITS.subscriberEvents);
    await runtime.close();
  });

  it("HOOK-11 HOOK-14 one that takes too long is left behind with a notice, and the next event comes", async () => {
    const stuck = collector("stuck", ({ event }) => (event.type === "run.started" ? never : undefined));
    const { guide, runtime } = await open([{ ...stuck.watch, timeoutMs: 50 }]);
    const run = await runtime.send(guide, "Go");
    const notices: string[] = [];
    const reading = (async () => {
      for await (const { event } of run.session.events()) if (event.type === "notice") notices.push(event.title);
    })();
    await soon(run.result());
    expect(stuck.ended()).toBe(false);
    await runtime.clock.advance(50);
    await until(stuck.ended);
    await until(() => notices.length > 0);
    expect(notices).toEqual(["Hook on of plugin stuck took longer than 50 ms"]);
    await runtime.close();
    await soon(reading);
  });

  it("HOOK-11 HOOK-14 a promise that is rejected is a notice, once", async () => {
    const bad = collector("bad", () => Promise.reject(new Error("no")));
    const { guide, runtime } = await open([bad.watch]);
    const run = await runtime.send(guide, "Go");
    const notices: string[] = [];
    const reading = (async () => {
      for await (const { event } of run.session.events()) if (event.type === "notice") notices.push(event.title);
    })();
    await soon(run.result());
    await until(bad.ended);
    await runtime.close();
    await soon(reading);
    expect(notices).toEqual(["Hook on of plugin bad failed"]);
  });

  it("LOOP-17 HOOK-11 closing does not wait for one that hangs, may be called twice, and loses nothing that came before", async () => {
    const gate = Promise.withResolvers<void>();
    const stuck = collector("stuck", () => gate.promise);
    const { guide, runtime } = await open([stuck.watch]);
    await soon((await runtime.send(guide, "Go")).result());
    const closed = runtime.close({ graceMs: 0 });
    await runtime.clock.advance(600);
    await soon(closed);
    await soon(runtime.close());
    expect(stuck.seen).toHaveLength(1);
    gate.resolve();
    await until(stuck.ended);
  });

  it("HOOK-05 SESS-20 hears of inputs, turns, changes, requests and ends, of sub-agents too", async () => {
    const watch = collector("watch");
    const worker = agent({ name: "worker", model: scriptedModel([{ text: "42" }]), instructions: "x" });
    const turns = [{ calls: [{ name: "worker", input: { task: "Count." } }] }, { text: "It is 42." }];
    const lead = agent({
      name: "lead",
      model: scriptedModel(turns),
      instructions: "x",
      tools: [worker],
      plugins: [watch.watch],
    });
    const runtime = await testRuntime({ agents: [lead] });
    const session = await runtime.session({ agent: lead, title: "Old" });
    await soon((await session.send("Go")).text());
    await soon(session.update({ title: "New" }));
    await until(() => watch.seen.some(({ event }) => event.type === "session.updated"));
    const heard = watch.seen.flatMap(({ event }) => (isLive(event) ? [] : [event]));
    const [ended] = heard.flatMap((event) => (event.type === "run.finished" ? [event] : []));
    expect(heard.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["input.accepted", "run.started", "turn.finished", "task.started", "session.updated"]),
    );
    expect(heard.find(({ type }) => type === "task.finished")).toMatchObject({ status: "completed", summary: "42" });
    expect(ended).toMatchObject({ reason: "end-turn", turns: 2 });
    await runtime.close();
  });

  it("HOOK-05 SUB-04 says of a sub-agent's events whose it is", async () => {
    const watched = collector("watch");
    const helper = agent({ name: "helper", model: scriptedModel([{ text: "Done." }]), instructions: "x" });
    const lead = agent({
      name: "lead",
      model: scriptedModel([{ calls: [{ name: "helper", input: { task: "Look." } }] }, { text: "Ok." }]),
      instructions: "x",
      tools: [helper],
    });
    const runtime = await testRuntime({ agents: [lead], plugins: [watched.watch] });
    const run = await runtime.send(lead, "Go");
    await soon(run.result());
    await runtime.close();
    const parents = watched.seen.map(({ agent: name, parent }) => `${name} ${parent?.sessionId ?? "none"}`);
    expect([...new Set(parents)].toSorted()).toEqual([`helper ${run.session.id}`, "lead none"]);
  });

  it("HOOK-11 closing gives what is queued the time it grants", async () => {
    const gate = Promise.withResolvers<void>();
    const slow = collector("slow", () => gate.promise);
    const { guide, runtime } = await open([slow.watch]);
    await soon((await runtime.send(guide, "Go")).result());
    const closed = runtime.close();
    gate.resolve();
    await soon(closed);
    expect(slow.ended()).toBe(true);
  });
});
