import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, type AgentDefinition } from "../ports/agent.ts";
import { isLive } from "../words/event.ts";
import { LIMITS } from "../words/limits.ts";
import { type MemoryStore, memoryStore } from "../store-engine/memory-store.ts";
import type { ModelRequest } from "../ports/model.ts";
import { openRuntime, type Runtime } from "./runtime.ts";
import type { RuntimeOptions } from "./runtime-options.ts";
import type { Store } from "../ports/store.ts";
import { storeEngine } from "../store-engine/store-engine.ts";
import { type FakeClock, fakeClock } from "../testing/fake-clock.ts";
import { fixedIds } from "../testing/fixed-ids.ts";
import { type ScriptedModel, scriptedModel, type ScriptedReply } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { tool } from "../ports/tool.ts";
import { logOf, ofType, soon, until } from "../testing/waiting.ts";

const echo = tool({
  name: "echo",
  description: "Says it again.",
  input: z.object({ say: z.string() }),
  rerun: "safe",
  execute: ({ say }) => say,
});
const call = (say: string): ScriptedReply => ({ calls: [{ name: "echo", input: { say } }] });

async function open(turns: readonly ScriptedReply[] = [], definition: Partial<AgentDefinition> = {}) {
  const model = scriptedModel(turns);
  const guide = agent({ name: "guide", model, instructions: "x", tools: [echo], ...definition });
  return { guide, model, runtime: await testRuntime({ agents: [guide] }) };
}

describe("send", () => {
  it("LOOP-23 refuses an empty input and one that is too large, and loses nothing", async () => {
    const { guide, runtime } = await open();
    const session = await runtime.session({ agent: guide });
    for (const input of ["", "  \n", [], [{ type: "text", text: " " }] as const]) {
      await expect(session.send(input)).rejects.toMatchObject({ code: "input-invalid" });
    }
    await expect(session.send("x".repeat(LIMITS.inputBytes + 1))).rejects.toMatchObject({ code: "input-too-large" });
    await expect(session.send("ä".repeat(LIMITS.inputBytes / 2 + 1))).rejects.toMatchObject({
      code: "input-too-large",
    });
    expect(await logOf(runtime.store, session.id)).toHaveLength(1);
    expect((await session.state()).status).toBe("idle");
    await runtime.close();
  });

  it("TOOL-43 takes parts, and keeps files over 32 KB as blobs", async () => {
    const { guide, runtime, model } = await open([{ text: "Seen." }]);
    const file = (size: number) =>
      ({
        type: "file",
        mediaType: "image/png",
        data: { type: "base64", base64: Buffer.alloc(size, 3).toString("base64") },
      }) as const;
    const run = await runtime.send(guide, [
      { type: "text", text: "Look" },
      file(LIMITS.inlineBytes - 2),
      file(LIMITS.inlineBytes + 3),
    ]);
    await soon(run.text());
    const [accepted] = ofType(await logOf(runtime.store, run.session.id), "input.accepted");
    expect(accepted?.parts.map((part) => (part.type === "file" ? part.data.type : part.type))).toEqual([
      "text",
      "base64",
      "blob",
    ]);
    const part = model.requests[0]?.messages[0]?.parts[2];
    if (part?.type !== "file" || part.data.type !== "blob") throw new Error("no blob");
    expect((await model.requests[0]?.blob(part.data.hash))?.length).toBe(LIMITS.inlineBytes + 3);
    await runtime.close();
  });

  it("DUR-04 the same idempotency key gives the same run, another body a conflict", async () => {
    const { guide, runtime } = await open([{ text: "Once." }]);
    const send = (input: string, key = "k1") => runtime.send(guide, input, { idempotencyKey: key });
    const first = await send("Go");
    const second = await send("Go");
    expect([second.id, second.session.id]).toEqual([first.id, first.session.id]);
    expect(await soon(second.text())).toBe("Once.");
    const third = await send("Go");
    expect(await soon(third.text())).toBe("Once.");
    await expect(send("Stop")).rejects.toMatchObject({ code: "idempotency-conflict" });
    expect((await send("Go", "k2")).session.id).not.toBe(first.session.id);
    expect(ofType(await logOf(runtime.store, first.session.id), "input.accepted")).toHaveLength(1);
    await runtime.close();
  });

  it("LOOP-21 model, settings and limits of one send are for that run only", async () => {
    const small = scriptedModel([{ text: "small" }], { id: "named/small" });
    const store = memoryStore();
    const clock = fakeClock();
    const ids = fixedIds();
    const asked: string[] = [];
    const model = scriptedModel([call("a"), call("b"), { text: "big" }]);
    const guide = agent({
      name: "guide",
      model,
      instructions: "x",
      tools: [echo],
      settings: { temperature: 0.5, maxOutputTokens: 9 },
    });
    const runtime = await openRuntime({
      agents: [guide],
      engine: storeEngine(store, { clock, ids }),
      host: {
        clock,
        ids,
        resolveModel: async (name) => {
          asked.push(name);
          return small;
        },
      },
    });
    const session = await runtime.session({ agent: guide });
    const limited = await session.send("Go", { limits: { turns: 1 }, settings: { temperature: 1 } });
    expect(await soon(limited.result())).toMatchObject({ reason: "max-turns" });
    expect(model.requests[0]?.settings).toEqual({ temperature: 1, maxOutputTokens: 9 });
    const other = await session.send("Go", { model: "named/small" });
    await soon(other.result());
    expect(asked).toEqual(["named/small"]);
    expect(small.requests).toHaveLength(1);
    await soon((await session.send("Go")).text());
    expect(model.requests.at(-1)?.settings).toEqual({ temperature: 0.5, maxOutputTokens: 9 });
    await soon(session.update({ model: "named/small" }));
    await soon((await session.send("Go")).text());
    expect(small.requests).toHaveLength(2);
    expect(ofType(await logOf(store, session.id), "turn.started").map((fact) => fact.model)).toEqual([
      "scripted/model",
      "named/small",
      "scripted/model",
      "named/small",
    ]);
    await runtime.close();
  });

  it("LOOP-29 a model of one send that cannot be resolved ends that run", async () => {
    const clock = fakeClock();
    const ids = fixedIds();
    const guide = agent({ name: "guide", model: scriptedModel([]), instructions: "x" });
    const runtime = await openRuntime({
      agents: [guide],
      engine: storeEngine(memoryStore(), { clock, ids }),
      host: { clock, ids },
    });
    const session = await runtime.session({ agent: guide });
    const run = await session.send("Go", { model: "nobody/knows" });
    expect(await soon(run.result())).toMatchObject({ reason: "error", error: { code: "model-unknown" } });
    expect(await soon((await session.send("Go")).text())).toBe("Done.");
    await runtime.close();
  });
});

describe("run", () => {
  it("SESS-13 LOOP-02 takes hold of a run again, the newest by default", async () => {
    const { guide, runtime } = await open([{ text: "One" }, { text: "Two" }]);
    const session = await runtime.session({ agent: guide });
    expect(await session.run()).toBeUndefined();
    const one = await session.send("1");
    const two = await session.send("2");
    await soon(two.text());
    const handle = await (await runtime.session<string>(session.id)).run();
    expect(handle?.id).toBe(two.id);
    expect(await soon(handle?.text() ?? Promise.reject(new Error("no run")))).toBe("Two");
    const older = await session.run(one.id);
    expect(await soon(older?.result() ?? Promise.reject(new Error("no run")))).toMatchObject({ text: "One", turns: 1 });
    expect(await session.run("run_none")).toBeUndefined();
    await runtime.close();
  });

  it("STREAM-02 events() shows the whole run whenever it is called, and leaving it does not stop the run", async () => {
    const gate = Promise.withResolvers<void>();
    const { guide, runtime } = await open([{ text: "abcdef", hold: gate.promise }]);
    const run = await runtime.send(guide, "Go");
    for await (const { event } of run.events()) if (event.type === "run.started") break;
    gate.resolve();
    expect(await soon(run.text())).toBe("abcdef");
    const facts: string[] = [];
    for await (const { event } of run.events()) if (!isLive(event)) facts.push(event.type);
    expect(facts).toEqual([
      "input.accepted",
      "run.started",
      "prefix.set",
      "message.added",
      "turn.started",
      "message.added",
      "turn.finished",
      "run.finished",
    ]);
    await runtime.close();
  });

  it("OUT-01 output() is checked by the agent's schema", async () => {
    const schema = z.object({ n: z.number() });
    for (const [text, outcome] of [
      ['{"n":4}', { n: 4 }],
      ['{"n":"4"}', "output-invalid"],
      ["four", "output-invalid"],
    ] as const) {
      const model = scriptedModel([{ text }]);
      const guide = agent({ name: "guide", model, instructions: "x", output: schema });
      const runtime = await testRuntime({ agents: [guide] });
      const run = await runtime.send(guide, "Go");
      if (typeof outcome === "string") await expect(soon(run.output())).rejects.toMatchObject({ code: outcome });
      else expect(await soon(run.output())).toEqual(outcome);
      await runtime.close();
    }
  });
});

describe("state and messages", () => {
  it("LOOP-03 state() has status, queue and usage, and no bodies of the conversation", async () => {
    const gate = Promise.withResolvers<void>();
    const usage = { inputTokens: 4, outputTokens: 2 };
    const { guide, runtime, model } = await open([
      { text: "private words", usage },
      { text: "x", hold: gate.promise, usage },
    ]);
    const session = await runtime.session({ agent: guide, key: "k", title: "T", metadata: { a: 1 } });
    expect(await session.state()).toMatchObject({
      status: "idle",
      key: "k",
      title: "T",
      metadata: { a: 1 },
      queue: [],
    });
    await soon((await session.send("one")).text());
    expect(JSON.stringify(await session.state())).not.toContain("private words");
    await session.send("two");
    await until(() => model.requests.length === 2);
    await session.send("three");
    await until(async () => (await session.state()).queue.length === 1);
    expect(await session.state()).toMatchObject({
      status: "running",
      usage,
      lastRun: { id: "run_1", reason: "end-turn" },
      run: { id: "run_2", turns: 0 },
      queue: [{ runId: "run_3", ifBusy: "queue" }],
    });
    gate.resolve();
    await until(async () => (await session.state()).status === "idle");
    await runtime.close();
  });

  it("SESS-01 messages() pages backwards", async () => {
    const { guide, runtime } = await open([{ text: "A" }, { text: "B" }]);
    const session = await runtime.session({ agent: guide });
    await soon((await session.send("a")).text());
    await soon((await session.send("b")).text());
    const ids = (await session.messages()).map(({ id }) => id);
    expect(ids).toEqual(["in_1", "run_1/turn/1/message", "in_2", "run_2/turn/1/message"]);
    expect((await session.messages({ limit: 2 })).map(({ id }) => id)).toEqual(ids.slice(2));
    expect((await session.messages({ before: "in_2", limit: 1 })).map(({ id }) => id)).toEqual([ids[1]]);
    expect((await session.messages({ before: "in_1" })).map(({ id }) => id)).toEqual([]);
    expect(await session.messages({ limit: 0 })).toEqual([]);
    await expect(session.messages({ before: "in_9" })).rejects.toMatchObject({ code: "cursor-invalid" });
    await runtime.close();
  });

  it("SESS-10 imported messages are what the model reads first", async () => {
    const { guide, runtime, model } = await open([{ text: "no" }, { text: "Yes." }]);
    const session = await runtime.session({
      agent: guide,
      messages: [
        { id: "m1", role: "user", parts: [{ type: "text", text: "Hello" }] },
        { id: "m2", role: "assistant", parts: [{ type: "text", text: "Hi" }] },
      ],
    });
    expect(await soon((await session.send("And?")).text())).toBe("Yes.");
    expect(model.requests[0]?.messages.map(({ id }) => id)).toEqual(["m1", "m2", "in_1"]);
    await runtime.close();
  });

  it("SESS-07 update() is seen while a run goes on, and is a fact", async () => {
    const gate = Promise.withResolvers<void>();
    const { guide, runtime, model } = await open([{ text: "abc", hold: gate.promise }]);
    const run = await runtime.send(guide, "Go");
    await until(() => model.requests.length === 1);
    await soon(run.session.update({ title: "New", metadata: { b: 2 }, mode: "plan" }));
    expect(await run.session.state()).toMatchObject({ title: "New", metadata: { b: 2 }, mode: "plan" });
    expect((await runtime.sessions())[0]).toMatchObject({ title: "New", status: "running" });
    gate.resolve();
    expect(await soon(run.text())).toBe("abc");
    await runtime.close();
  });

  it("remove() ends the run and deletes what there was", async () => {
    const { guide, runtime, model } = await open([{ text: "abc", hold: new Promise(() => undefined) }]);
    const run = await runtime.send(guide, "Go");
    await until(() => model.requests.length === 1);
    const events = soon(run.result());
    await soon(run.session.remove());
    await events;
    await expect(runtime.session(run.session.id)).rejects.toMatchObject({ code: "session-not-found" });
    await expect(run.session.send("Hello?")).rejects.toMatchObject({ code: "session-not-found" });
    expect(await runtime.sessions()).toEqual([]);
    await runtime.close();
  });
});

describe("fork", () => {
  async function twoRuns() {
    const all = await open([{ text: "A" }, { text: "B" }, { text: "C" }]);
    const session = await all.runtime.session({ agent: all.guide, key: "chat" });
    await soon((await session.send("a")).text());
    await soon((await session.send("b")).text());
    return { ...all, session };
  }

  it("SESS-15 EDGE-11 copies the facts up to a number and goes on by itself", async () => {
    const { runtime, session, model } = await twoRuns();
    const log = await logOf(runtime.store, session.id);
    const at = log.findIndex(({ type }) => type === "run.finished") + 1;
    const fork = await session.fork({ at });
    expect(fork.key).toBeUndefined();
    const copied = await logOf(runtime.store, fork.id);
    expect(copied.slice(1)).toEqual(log.slice(1, at));
    expect(copied[0]).toMatchObject({
      type: "session.created",
      sessionId: fork.id,
      forkedFrom: { sessionId: session.id, seq: at },
    });
    expect(copied[0]).not.toHaveProperty("sessionKey");
    expect(await soon((await fork.send("b2")).text())).toBe("B");
    expect(model.requests.at(-1)?.messages.map(({ parts }) => parts[0])).toEqual([
      { type: "text", text: "a" },
      { type: "text", text: "A" },
      { type: "text", text: "b2" },
    ]);
    expect(await logOf(runtime.store, session.id)).toEqual(log);
    await runtime.close();
  });

  it("SESS-15 keepKey moves the key: that is regenerate", async () => {
    const { guide, runtime, session } = await twoRuns();
    const fork = await session.fork({ at: 9, keepKey: true });
    expect(fork.key).toBe("chat");
    const named = await runtime.session({ agent: guide, key: "chat" });
    expect(named.id).toBe(fork.id);
    expect((await runtime.session(session.id)).key).toBeUndefined();
    await runtime.close();
  });

  it("EDGE-11 what was open is closed as cancelled: no effect in flight is inherited", async () => {
    const ran: string[] = [];
    const slow = tool({
      name: "slow",
      description: "Waits.",
      input: z.object({}),
      permission: () => "ask",
      execute: () => void ran.push("ran"),
    });
    const model = scriptedModel([{ calls: [{ name: "slow", input: {} }] }, { text: "Ok." }]);
    const guide = agent({ name: "guide", model, instructions: "x", tools: [slow] });
    const runtime = await testRuntime({ agents: [guide], permission: { mode: "ask" } });
    const run = await runtime.send(guide, "Go");
    await soon(run.result());
    await run.session.send("queued");
    await until(async () => (await run.session.state()).queue.length === 1);
    const fork = await run.session.fork();
    expect(await fork.state()).toMatchObject({ status: "idle", queue: [], requests: {} });
    expect((await runtime.sessions({ status: "idle" })).map(({ sessionId }) => sessionId)).toEqual([fork.id]);
    const closing = (await logOf(runtime.store, fork.id)).slice(-4).map(({ type }) => type);
    expect(closing).toEqual(["request.resolved", "tool.finished", "input.withdrawn", "run.finished"]);
    expect(await soon((await fork.send("Now?")).text())).toBe("Ok.");
    expect(ran).toEqual([]);
    expect((await run.session.state()).status).toBe("waiting");
    await runtime.close();
  });

  it("LOOP-17 SESS-10 a fork at the first fact that keeps the key begins the conversation over, and loses nothing", async () => {
    const { guide, runtime, model } = await open([{ text: "One." }, { text: "Two." }]);
    const session = await runtime.session({ agent: guide, key: "chat", metadata: { plan: "gold" } });
    await soon((await session.send("Remember 7")).text());
    const fresh = await session.fork({ at: 1, keepKey: true });
    expect(await soon((await fresh.send("Which number?")).text())).toBe("One.");
    expect(model.requests.at(-1)?.messages.map(({ parts }) => parts)).toEqual([
      [{ type: "text", text: "Which number?" }],
    ]);
    expect(await fresh.state()).toMatchObject({ metadata: { plan: "gold" } });
    expect((await runtime.session({ agent: guide, key: "chat" })).id).toBe(fresh.id);
    expect(await session.messages()).toHaveLength(2); // the old one is there still
    await runtime.close();
  });

  it("SESS-15 a fork may be changed, forked and named like any session", async () => {
    const { runtime, session } = await twoRuns();
    await soon(session.update({ title: "Original" }));
    const fork = await session.fork();
    expect((await runtime.sessions()).find(({ sessionId }) => sessionId === fork.id)).toMatchObject({
      title: "Original",
      usage: (await session.state()).usage,
    });
    await soon(fork.update({ title: "Fork" }));
    const again = await fork.fork();
    await soon(again.update({ title: "Fork of the fork" }));
    const titles = await Promise.all([session, fork, again].map(async (each) => (await each.state()).title));
    expect(titles).toEqual(["Original", "Fork", "Fork of the fork"]);
    await runtime.close();
  });

  it("refuses a number that names no fact", async () => {
    const { runtime, session } = await twoRuns();
    for (const at of [0, -1, 1_000]) {
      await expect(session.fork({ at })).rejects.toMatchObject({ code: "cursor-invalid" });
    }
    expect(await runtime.sessions()).toHaveLength(1);
    await runtime.close();
  });
});

/** A store that counts what is read. */
function counting(inner: MemoryStore): Store & { readonly reads: { after: number; types: boolean; count: number }[] } {
  const reads: { after: number; types: boolean; count: number }[] = [];
  return {
    ...inner,
    reads,
    read: async (sessionId, options) => {
      const facts = await inner.read(sessionId, options);
      reads.push({ after: options.after, types: options.types !== undefined, count: facts.length });
      return facts;
    },
  };
}

describe("snapshots", () => {
  it("EDGE-03 DUR-15 a new hold and state() read only the tail", async () => {
    const inner = memoryStore();
    const clock: FakeClock = fakeClock();
    const ids = fixedIds();
    const start = async (model: ScriptedModel, options: Partial<RuntimeOptions> = {}) => {
      const store = counting(inner);
      const guide = agent({ name: "guide", model, instructions: "x" });
      const runtime: Runtime = await openRuntime({
        ...options,
        agents: [guide],
        engine: storeEngine(store, { clock, ids }),
        host: { clock, ids },
      });
      return { store, runtime, session: await runtime.session({ agent: guide, key: "one" }) };
    };
    const texts = Array.from({ length: 60 }, (_, index) => ({ text: `answer ${index}` }));
    const first = await start(scriptedModel(texts));
    for (let index = 0; index < 45; index++) await soon((await first.session.send(`question ${index}`)).text());
    const whole = await first.session.state();
    await soon(first.runtime.close());
    const head = (await inner.read("ses_1", { after: 0, limit: 10_000 })).length;
    expect(head).toBeGreaterThan(LIMITS.snapshotFacts * 2);
    const snapshot = await inner.snapshot("ses_1");
    expect(head - (snapshot?.seq ?? 0)).toBeLessThan(LIMITS.snapshotFacts + 16);
    const second = await start(scriptedModel(texts));
    expect(await second.session.state()).toEqual(whole);
    expect(second.store.reads.every(({ after }) => after >= (snapshot?.seq ?? 0))).toBe(true);
    second.store.reads.length = 0;
    expect(await soon((await second.session.send("more")).text())).toBe("answer 45");
    const bodies = second.store.reads.filter(({ after, types }) => types && after === 0);
    const folds = second.store.reads.filter(({ types }) => !types);
    expect(bodies).toHaveLength(1); // the conversation, once a hold, of message facts only
    expect(folds.every(({ after }) => after >= (snapshot?.seq ?? 0) - 16)).toBe(true); // from the start of the run that it lies in
    await soon(second.runtime.close());
  });

  it("EDGE-14 a snapshot of another version is not used", async () => {
    const store = memoryStore();
    const clock = fakeClock();
    const ids = fixedIds();
    const guide = agent({ name: "guide", model: scriptedModel([{ text: "A" }, { text: "B" }]), instructions: "x" });
    const start = () =>
      openRuntime({ agents: [guide], engine: storeEngine(store, { clock, ids }), host: { clock, ids } });
    const first = await start();
    const session = await first.session({ agent: guide });
    await soon((await session.send("a")).text());
    await soon(first.close());
    const claim = await store.claim(session.id, "me");
    const bad = { seq: 3, version: 999, data: { state: { nonsense: true }, folds: {} } };
    await store.append({ sessionId: session.id, epoch: claim?.epoch ?? 0, facts: [], snapshot: bad }, { sync: true });
    await store.release(session.id, claim?.epoch ?? 0);
    const second = await start();
    const again = await second.session<string>(session.id);
    expect(await again.state()).toMatchObject({ status: "idle", agent: "guide" });
    expect(await soon((await again.send("b")).text())).toBe("B");
    await soon(second.close());
  });
});

describe("redaction", () => {
  const SECRET = "hunter2-secret-token";

  it("SEC-01 EDGE-15 no secret enters log, mailbox, stream, summary or model request", async () => {
    const inner = memoryStore();
    const written: string[] = [];
    const store: Store = {
      ...inner,
      create: (session) => (written.push(JSON.stringify(session)), inner.create(session)),
      submit: (mail) => (written.push(JSON.stringify(mail)), inner.submit(mail)),
      append: (write, options) => (written.push(JSON.stringify(write)), inner.append(write, options)),
      putBlob: (hash, bytes) => (written.push(Buffer.from(bytes).toString()), inner.putBlob(hash, bytes)),
    };
    const leak = tool({
      name: "leak",
      description: "Leaks.",
      input: z.object({ with: z.string() }),
      execute: (_input, context) => {
        context.progress({ chunk: `progress ${SECRET}`, message: `message ${SECRET}` });
        throw new Error(`failed with ${SECRET}`);
      },
    });
    const model = scriptedModel([
      {
        reasoning: `think ${SECRET}`,
        text: `say ${SECRET}.`,
        calls: [{ name: "leak", input: { with: SECRET } }],
        deltas: 40,
      },
      { text: "Ok." },
    ]);
    const guide = agent({
      name: "guide",
      model,
      instructions: `Use ${SECRET}`,
      tools: [leak],
      plugins: [
        {
          name: "tail",
          prepare: (_request, context) => {
            context.notice(`notice ${SECRET}`, SECRET);
            return { tail: [{ type: "text", text: `tail ${SECRET}` }] };
          },
        },
      ],
    });
    const clock = fakeClock();
    const ids = fixedIds();
    const runtime = await openRuntime({
      agents: [guide],
      secrets: [SECRET],
      engine: storeEngine(store, { clock, ids }),
      host: { clock, ids },
    });
    const session = await runtime.session({
      agent: guide,
      title: `title ${SECRET}`,
      metadata: { note: SECRET },
      messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: `import ${SECRET}` }] }],
    });
    const shown: string[] = [];
    const joined = new Map<string, string>();
    const watching = (async () => {
      for await (const envelope of session.events()) {
        shown.push(JSON.stringify(envelope));
        const { event } = envelope;
        if (event.type === "text.delta" || event.type === "reasoning.delta" || event.type === "tool-input.delta")
          joined.set(event.blockId, (joined.get(event.blockId) ?? "") + event.delta);
        if (event.type === "run.finished") return;
      }
    })();
    await until(() => shown.length > 0);
    await session.send(`My key is ${SECRET}`);
    await soon(session.update({ title: `again ${SECRET}` }));
    await soon(watching);
    const requests = model.requests.map((request: ModelRequest) => JSON.stringify([request.system, request.messages]));
    await soon(runtime.close());
    const where = (texts: readonly string[]): readonly string[] => texts.filter((text) => text.includes(SECRET));
    expect({
      log: where(written),
      stream: where(shown),
      joined: where([...joined.values()]),
      requests: where(requests),
    }).toEqual({ log: [], stream: [], joined: [], requests: [] });
    expect([...joined.values()]).toEqual(["think [secret]", "say [secret].", '{"with":"[secret]"}', "Ok."]);
    expect(shown.filter((text) => text.includes("tool.progress"))).toHaveLength(1);
  });
});
