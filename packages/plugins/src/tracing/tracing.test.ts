import * as api from "@opentelemetry/api";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider, type ReadableSpan } from "@opentelemetry/sdk-trace";
import {
  agent,
  type Agent,
  CapstanError,
  memoryStore,
  openRuntime,
  type Runtime,
  storeEngine,
  tool,
} from "@capstan/core";
import { crashSweep, fakeClock, fixedIds, scriptedModel, testRuntime } from "@capstan/core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { call, play } from "../file-world.ts";
import { tracing } from "./index.ts";

const input = z.object({ q: z.string() });
const look = tool({
  name: "look",
  description: "Looks.",
  input,
  kind: "search",
  rerun: "safe",
  execute: ({ q }) => `saw ${q}`,
});
const fails = tool({
  name: "fails",
  description: "Fails.",
  input,
  rerun: "safe",
  execute: () => {
    throw new Error("no such thing as hush-hush");
  },
});

type World = {
  readonly plugin: ReturnType<typeof tracing>;
  readonly spans: () => readonly ReadableSpan[];
  readonly started: () => number;
};

/** A provider of its own: nothing global is touched. */
function world(content = false): World {
  const exporter = new InMemorySpanExporter();
  let started = 0;
  const counting = {
    onStart: () => void (started += 1),
    onEnd: () => undefined,
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  };
  const provider = new TracerProvider({ spanProcessors: [counting, new SimpleSpanProcessor({ exporter } as never)] });
  return {
    plugin: tracing({ api, provider, content }),
    spans: () => exporter.getFinishedSpans(),
    started: () => started,
  };
}

function named(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const span = spans.find((found) => found.name === name);
  if (span === undefined) throw new Error(`no span ${name} among ${spans.map((found) => found.name).join(", ")}`);
  return span;
}
const parentOf = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId;
const idOf = (span: ReadableSpan): string => span.spanContext().spanId;
const traceOf = (span: ReadableSpan): string => span.spanContext().traceId;

describe("tracing", () => {
  it("OBS-02 OBS-03 gives a run, its model calls and its tools spans by the conventions", async () => {
    const { plugin, spans, started } = world();
    await play({
      plugins: [plugin],
      tools: [look, fails],
      turns: [
        {
          calls: [call("look", { q: "hush-hush" }), call("fails", { q: "x" })],
          usage: {
            inputTokens: 10,
            outputTokens: 5,
            cacheReadTokens: 100,
            cacheWriteTokens: 7,
            reasoningTokens: 2,
            costMicroUsd: 1_500,
          },
        },
        { text: "Done." },
      ],
    });
    const all = spans();
    expect(all.map(({ name }) => name).toSorted()).toEqual([
      "chat model",
      "chat model",
      "execute_tool fails",
      "execute_tool look",
      "invoke_agent worker",
    ]);
    expect(started()).toBe(all.length);
    const run = named(all, "invoke_agent worker");
    expect(run.attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "worker",
      "gen_ai.agent.id": "worker",
      "gen_ai.agent.version": expect.stringMatching(/^[0-9a-f]{64}$/),
      "gen_ai.provider.name": "scripted",
      "gen_ai.request.model": "model",
      "capstan.run.reason": "end-turn",
      "capstan.run.turns": 2,
    });
    expect(run.attributes["gen_ai.conversation.id"]).toMatch(/^ses_/);
    const chat = named(all, "chat model");
    expect(chat.kind).toBe(api.SpanKind.CLIENT);
    expect(parentOf(chat)).toBe(idOf(run));
    expect(chat.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.usage.input_tokens": 117,
      "gen_ai.usage.output_tokens": 5,
      "gen_ai.usage.cache_read.input_tokens": 100,
      "gen_ai.usage.cache_creation.input_tokens": 7,
      "gen_ai.usage.reasoning.output_tokens": 2,
      "gen_ai.response.finish_reasons": ["tool-calls"],
      "gen_ai.response.model": "model",
      "gen_ai.conversation.id": run.attributes["gen_ai.conversation.id"],
      "capstan.usage.cost": 0.0015,
    });
    const looked = named(all, "execute_tool look");
    expect(parentOf(looked)).toBe(idOf(run));
    expect(looked.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "look",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": expect.stringMatching(/\/1\/0$/),
      "capstan.tool.kind": "search",
      "capstan.tool.status": "ok",
    });
    const failed = named(all, "execute_tool fails");
    expect(failed.status.code).toBe(api.SpanStatusCode.ERROR);
    expect(failed.attributes["error.type"]).toBe("error");
    expect(JSON.stringify(all.map(({ attributes, events, status }) => [attributes, events, status]))).not.toContain(
      "hush",
    );
  });

  it("OBS-02 G23 captures content only when told to, without registered secrets", async () => {
    const { plugin, spans } = world(true);
    const worker = agent({
      name: "worker",
      model: scriptedModel([{ calls: [call("look", { q: "sesame-open-42" })] }, { text: "It is sesame-open-42." }]),
      instructions: "Keep sesame-open-42 to yourself.",
      tools: [look],
    });
    const runtime = await testRuntime({ agents: [worker], plugins: [plugin], secrets: ["sesame-open-42"] });
    await (await runtime.send(worker, "Go")).result();
    await runtime.close();
    const chats = spans().filter(({ name }) => name === "chat model");
    expect(JSON.parse(String(chats[0]?.attributes["gen_ai.input.messages"]))).toEqual([
      { role: "user", parts: [{ type: "text", content: "Go" }] },
    ]);
    expect(chats[0]?.attributes["gen_ai.system_instructions"]).toContain("Keep [secret] to yourself.");
    expect(JSON.parse(String(chats[1]?.attributes["gen_ai.output.messages"]))).toEqual([
      { role: "assistant", parts: [{ type: "text", content: "It is [secret]." }] },
    ]);
    expect(named(spans(), "execute_tool look").attributes).toMatchObject({
      "gen_ai.tool.call.arguments": '{"q":"[secret]"}',
      "gen_ai.tool.call.result": "saw [secret]",
    });
    expect(JSON.stringify(spans().map(({ attributes }) => attributes))).not.toContain("sesame");
  });

  it("OBS-02 puts the spans of a sub-agent under the call that started it, in one trace", async () => {
    const { plugin, spans } = world();
    const child = agent({ name: "child", model: scriptedModel([{ text: "Child done." }]), instructions: "x" });
    const parent = agent({
      name: "parent",
      model: scriptedModel([{ calls: [call("child", { task: "go" })] }, { text: "Done." }]),
      instructions: "x",
      tools: [child],
    });
    const runtime = await testRuntime({ agents: [parent], plugins: [plugin] });
    await (await runtime.send(parent, "Go")).text();
    await runtime.close();
    const [above, spawned, below] = ["invoke_agent parent", "execute_tool child", "invoke_agent child"].map((name) =>
      named(spans(), name),
    );
    expect(parentOf(spawned as ReadableSpan)).toBe(idOf(above as ReadableSpan));
    expect(parentOf(below as ReadableSpan)).toBe(idOf(spawned as ReadableSpan));
    expect(new Set(spans().map(traceOf)).size).toBe(1);
    expect(spans().every(({ ended }) => ended)).toBe(true);
  });

  it("OBS-02 goes on in the trace of the sender", async () => {
    const { plugin, spans } = world();
    const worker = agent({ name: "worker", model: scriptedModel([{ text: "Hi." }]), instructions: "x" });
    const runtime = await testRuntime({ agents: [worker], plugins: [plugin] });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await (await runtime.send(worker, "Go", { tags: { traceparent } })).result();
    await (await runtime.send(worker, "Go", { tags: { traceparent: "00-zz-1-01" } })).result();
    await runtime.close();
    const runs = spans().filter(({ name }) => name === "invoke_agent worker");
    expect(runs.map((run) => [traceOf(run) === "0af7651916cd43dd8448eb211c80319c", parentOf(run)])).toEqual([
      [true, "b7ad6b7169203331"],
      [false, undefined],
    ]);
  });

  it("OBS-02 leaves no span open after an interrupt, and calls a failed try of the model an error", async () => {
    const { plugin, spans, started } = world();
    const held = Promise.withResolvers<void>();
    const slow = tool({
      name: "slow",
      description: "Waits.",
      input,
      rerun: "safe",
      execute: (_input, { signal }) => {
        held.resolve();
        return new Promise<string>((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        );
      },
    });
    const overloaded = new CapstanError("model-overloaded", "Busy", { retryable: true });
    const model = scriptedModel([
      (_request, attempt) => (attempt === 1 ? { error: overloaded } : { calls: [call("slow", { q: "x" })] }),
    ]);
    const worker = agent({ name: "worker", model, instructions: "x", tools: [slow] });
    const runtime = await testRuntime({ agents: [worker], plugins: [plugin] });
    const run = await runtime.send(worker, "Go");
    const moving = (async () => {
      for await (const { event } of run.events()) if (event.type === "turn.reset") await runtime.clock.advance(60_000);
    })();
    await held.promise;
    await Promise.all([run.session.interrupt(), moving]);
    await runtime.close();
    expect(spans()).toHaveLength(started());
    const chats = spans().filter(({ name }) => name === "chat model");
    expect(
      chats.map(({ attributes, status }) => [attributes["capstan.attempt"], attributes["error.type"], status.code]),
    ).toEqual([
      [1, "model-overloaded", api.SpanStatusCode.ERROR],
      [2, undefined, api.SpanStatusCode.UNSET],
    ]);
    expect(named(spans(), "invoke_agent worker").attributes["capstan.run.reason"]).toBe("interrupted");
    expect(named(spans(), "execute_tool slow").attributes["error.type"]).toBe("cancelled");
  });

  it("OBS-02 DUR-01 a run that another process finishes goes on in the same trace, linked to its first span", async () => {
    const [first, second] = [world(), world()];
    const store = memoryStore();
    const clock = fakeClock();
    const ids = fixedIds();
    const asking = tool({
      name: "pay",
      description: "Pays.",
      input,
      permission: "ask",
      rerun: "safe",
      execute: () => "paid",
    });
    const worker = agent({
      name: "worker",
      model: scriptedModel([{ calls: [call("pay", { q: "x" })] }, { text: "Done." }]),
      instructions: "x",
      tools: [asking],
    });
    const open = (plugin: World["plugin"]): Promise<Runtime> =>
      openRuntime({
        agents: [worker as Agent<unknown>],
        engine: storeEngine({ ...store, close: async () => undefined }, { clock, ids }),
        plugins: [plugin],
        host: { clock, ids },
      });
    const before = await open(first.plugin);
    const run = await before.send(worker, "Go");
    expect((await run.result()).status).toBe("waiting");
    await before.close();
    const [begun] = first.spans().filter(({ name }) => name === "invoke_agent worker");
    expect(begun?.attributes["capstan.span.cut"]).toBe("closed");
    expect(first.spans()).toHaveLength(first.started());

    const after = await open(second.plugin);
    const session = await after.session(run.session.id);
    const [request] =
      (await session.state()).requests === undefined ? [] : Object.values((await session.state()).requests);
    await session.respond(request?.requestId ?? "", { type: "permission", allow: true });
    await (await session.run())?.result();
    await after.close();
    const ended = named(second.spans(), "invoke_agent worker");
    expect(ended.attributes["capstan.run.reason"]).toBe("end-turn");
    expect(traceOf(ended)).toBe(traceOf(begun as ReadableSpan));
    expect(ended.links.map(({ context }) => context.spanId)).toEqual([idOf(begun as ReadableSpan)]);
    expect(second.spans()).toHaveLength(second.started());
  });

  it("OBS-02 ends the span of a run that waits longer than its process keeps it", async () => {
    const { plugin, spans, started } = world();
    const asking = tool({
      name: "pay",
      description: "Pays.",
      input,
      permission: "ask",
      rerun: "safe",
      execute: () => "paid",
    });
    const worker = agent({
      name: "worker",
      model: scriptedModel([{ calls: [call("pay", { q: "x" })] }, { text: "Done." }]),
      instructions: "x",
      tools: [asking],
    });
    const runtime = await testRuntime({ agents: [worker], plugins: [plugin], permission: { mode: "ask" } });
    const run = await runtime.send(worker, "Go");
    const waiting = await run.result();
    await runtime.clock.advance(61_000);
    expect(spans()).toHaveLength(started());
    const [request] = waiting.requests;
    await run.session.respond(request?.requestId ?? "", { type: "permission", allow: true });
    await run.result();
    await runtime.close();
    const runs = spans().filter(({ name }) => name === "invoke_agent worker");
    expect(runs.map(({ attributes }) => attributes["capstan.span.cut"])).toEqual(["suspended", undefined]);
    expect(new Set(runs.map(traceOf)).size).toBe(1);
    expect(runs[1]?.links).toHaveLength(1);
    expect(spans()).toHaveLength(started());
  });

  it("OBS-02 changes nothing in what a crash at any write comes to", async () => {
    const { plugin } = world();
    const worker = agent({
      name: "worker",
      model: scriptedModel([{ calls: [call("look", { q: "x" })] }, { text: "ok" }]),
      instructions: "x",
      tools: [look],
      plugins: [plugin],
    });
    const report = await crashSweep({
      agents: [worker],
      journey: (runtime) => runtime.send(worker, "Go", { idempotencyKey: "go" }),
    });
    expect(report.crashes).toBeGreaterThan(10);
  });
});
