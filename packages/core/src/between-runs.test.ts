import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "./ports/agent.ts";
import type { Engine } from "./ports/engine.ts";
import { CapstanError } from "./words/errors.ts";
import { LIMITS } from "./words/limits.ts";
import { memoryStore } from "./store-engine/memory-store.ts";
import { plugin } from "./ports/plugin.ts";
import { openRuntime } from "./session/runtime.ts";
import type { Store } from "./ports/store.ts";
import { storeEngine } from "./store-engine/store-engine.ts";
import { fakeClock } from "./testing/fake-clock.ts";
import { fixedIds } from "./testing/fixed-ids.ts";
import { scriptedModel, type ScriptedReply } from "./testing/scripted-model.ts";
import { testRuntime } from "./testing/test-runtime.ts";
import { logOf, ofType, soon, until } from "./testing/waiting.ts";
import { flowTool, type Tool, tool } from "./ports/tool.ts";

const nothing = z.object({});
/** Never asked for: in the history the marker of the interrupt is the second message of the assistant. */
const MARKER: ScriptedReply = { text: "unused" };

async function open(turns: readonly ScriptedReply[], tools: readonly Tool[] = [], more: object = {}) {
  const model = scriptedModel(turns);
  const guide = agent({ name: "guide", model, instructions: "x", tools, ...more });
  const runtime = await testRuntime({ agents: [guide] });
  return { runtime, model, session: await runtime.session({ agent: guide, key: "k" }) };
}

describe("a failure", () => {
  it("LOOP-29 of one run does not leak into the next that already waits", async () => {
    const broken = tool({
      name: "broken",
      description: "Fails.",
      input: nothing,
      execute: () => Promise.reject(new CapstanError("workspace-missing", "no such folder")),
    });
    const gate = Promise.withResolvers<void>();
    const { runtime, session } = await open(
      [{ calls: [{ name: "broken", input: {} }], hold: gate.promise }, { text: "Fine." }, { text: "Fine too." }],
      [broken],
    );
    const one = await session.send("one");
    const two = await session.send("two");
    gate.resolve();
    expect(await soon(one.result())).toMatchObject({ reason: "error", error: { code: "workspace-missing" } });
    const after = await soon(two.result());
    expect(after).toMatchObject({ reason: "end-turn", text: "Fine." });
    expect(after.error).toBeUndefined();
    expect((await session.state()).lastRun).toEqual({ id: two.id, reason: "end-turn" });
    await runtime.close();
  });

  it("EDGE-05 of a tool that was left comes after the end of its run and changes nothing", async () => {
    const late = Promise.withResolvers<string>();
    const deaf = tool({ name: "deaf", description: "Hears nothing.", input: nothing, execute: () => late.promise });
    const { runtime, model, session } = await open(
      [{ calls: [{ name: "deaf", input: {} }] }, MARKER, { text: "Fine." }],
      [deaf],
    );
    await session.send("one");
    await until(async () => ofType(await logOf(runtime.store, session.id), "tool.started").length === 1);
    const interrupted = session.interrupt();
    await runtime.clock.advance(LIMITS.interruptGraceMs + 1);
    await soon(interrupted);
    const two = await session.send("two");
    late.reject(new CapstanError("workspace-missing", "too late"));
    expect(await soon(two.result())).toMatchObject({ reason: "end-turn", text: "Fine." });
    expect(model.requests).toHaveLength(2);
    await runtime.close();
  });

  it("EDGE-05 of a flow's step that was left comes after the end of its run and is in no log", async () => {
    for (const late of ["value", "error"] as const) {
      const begun = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<string>();
      const flow = flowTool({
        name: "flow",
        description: "Flows.",
        input: nothing,
        flow: (_input, { step }) => step("slow", () => (begun.resolve(), gate.promise)),
      });
      const second = Promise.withResolvers<void>();
      const { runtime, model, session } = await open(
        [{ calls: [{ name: "flow", input: {} }] }, MARKER, { text: "Fine.", hold: second.promise }],
        [flow],
      );
      await session.send("one");
      await begun.promise;
      const interrupted = session.interrupt();
      await runtime.clock.advance(LIMITS.interruptGraceMs + 1);
      await soon(interrupted);
      const two = await session.send("two");
      await until(() => model.requests.length === 2);
      const before = await logOf(runtime.store, session.id);
      if (late === "value") gate.resolve("late");
      else gate.reject(new Error("late"));
      await runtime.clock.advance(0);
      expect(await logOf(runtime.store, session.id)).toEqual(before);
      second.resolve();
      expect(await soon(two.text())).toBe("Fine.");
      await runtime.close();
    }
  });
});

describe("timers", () => {
  it("LOOP-05 DUR-10 a deadline and a sleep of an old run do nothing to a later one", async () => {
    const nap = flowTool({
      name: "nap",
      description: "Sleeps.",
      input: nothing,
      flow: async (_input, { sleep }) => (await sleep("long", 5_000), "rested"),
    });
    const gate = Promise.withResolvers<void>();
    const { runtime, session } = await open(
      [{ calls: [{ name: "nap", input: {} }] }, MARKER, { text: "Slow.", hold: gate.promise }],
      [nap],
      { limits: { wallMs: 8_000 } },
    );
    const one = await session.send("one");
    await until(async () => ofType(await logOf(runtime.store, session.id), "run.suspended").length === 1);
    await soon(session.interrupt());
    // timers that the store fires all the same, as after a crash between the end and their removal
    const two = await session.send("two");
    await until(async () => ofType(await logOf(runtime.store, session.id), "turn.started").length === 2);
    const before = await logOf(runtime.store, session.id);
    for (const name of [`deadline/${one.id}`, `sleep/call/${one.id}/1/0/step/long`])
      await fire(runtime.store, session.id, name);
    await runtime.clock.advance(4_000);
    expect(await runtime.store.mail(session.id)).toEqual([]);
    expect(await logOf(runtime.store, session.id)).toEqual(before);
    gate.resolve();
    expect(await soon(two.text())).toBe("Slow.");
    await runtime.close();
  });

  it("LOOP-05 the time that a flow sleeps does not count for the deadline, also where its session parked", async () => {
    const nap = flowTool({
      name: "nap",
      description: "Sleeps.",
      input: nothing,
      flow: async (_input, { sleep }) => (await sleep("long", 600_000), "rested"),
    });
    const { runtime, session } = await open([{ calls: [{ name: "nap", input: {} }] }, { text: "Ok." }], [nap], {
      limits: { wallMs: 10_000 },
    });
    const run = await session.send("Go");
    await until(async () => ofType(await logOf(runtime.store, session.id), "run.suspended").length === 1);
    await runtime.clock.advance(600_001);
    expect(await soon(run.result())).toMatchObject({ reason: "end-turn", text: "Ok." });
    await runtime.close();
  });
});

/** A timer that is due now, set by whoever holds the session. */
async function fire(store: Store, sessionId: string, name: string): Promise<void> {
  const epoch = 1;
  await store.append({ sessionId, epoch, facts: [], timers: [{ name, at: 0 }] }, { sync: false });
  await store.fireTimers(1);
}

describe("many runs", () => {
  it("STREAM-07 leave no reader, listener or timer behind", async () => {
    const clock = fakeClock();
    const ids = fixedIds();
    const inner = storeEngine(memoryStore(), { clock, ids });
    let readers = 0;
    const engine: Engine = {
      id: inner.id,
      submit: (op, options) => inner.submit(op, options),
      childFinished: (...told) => inner.childFinished(...told),
      async *events(sessionId, options) {
        readers += 1;
        try {
          yield* inner.events(sessionId, options);
        } finally {
          readers -= 1;
        }
      },
      read: (sessionId, slice) => inner.read(sessionId, slice),
      snapshot: (sessionId) => inner.snapshot(sessionId),
      list: (filter) => inner.list(filter),
      summary: (sessionId) => inner.summary(sessionId),
      work: (drive, options) => inner.work(drive, options),
      adopt: (sessionId, options) => inner.adopt(sessionId, options),
      putBlob: (bytes) => inner.putBlob(bytes),
      blob: (hash) => inner.blob(hash),
      close: () => inner.close(),
    };
    const echo = tool({ name: "echo", description: "Echoes.", input: nothing, rerun: "safe", execute: () => "echo" });
    const signals = new Set<AbortSignal>();
    const watcher = plugin({
      name: "watcher",
      on: () => undefined,
      prepare: (_request, { signal }) => void signals.add(signal),
    });
    const guide = agent({
      name: "guide",
      model: scriptedModel([], {}),
      instructions: "x",
      tools: [echo],
      plugins: [watcher],
    });
    const runtime = await openRuntime({ agents: [guide], engine, host: { clock, ids } });
    const session = await runtime.session({ agent: guide, key: "k" });
    const leaving = new AbortController();
    for (let count = 0; count < 20; count++) {
      const run = await session.send(`input ${count}`);
      for await (const { event } of run.events({ signal: leaving.signal })) if (event.type === "text.delta") break;
      await soon(run.text());
      await soon((await runtime.send(guide, "Go")).text());
    }
    await clock.advance(LIMITS.parkAfterMs + 1);
    await until(() => readers === 0);
    expect(getEventListeners(leaving.signal, "abort")).toEqual([]);
    for (const signal of signals) expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(clock.pending).toBeLessThanOrEqual(1); // the next look at the store
    const closed = runtime.close({ graceMs: 0 });
    await clock.advance(1);
    await soon(closed);
    expect(clock.pending).toBe(0);
  });
});
