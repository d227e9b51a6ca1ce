import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "./ports/agent.ts";
import { CapstanError } from "./words/errors.ts";
import { isLive, type LiveBody } from "./words/event.ts";
import type { Model, ModelEvent } from "./ports/model.ts";
import type { Run } from "./session/session.ts";
import { scriptedModel, type ScriptedReply, type ScriptedTurn } from "./testing/scripted-model.ts";
import { testRuntime } from "./testing/test-runtime.ts";
import { transcript } from "./testing/transcript.ts";
import { tool } from "./ports/tool.ts";
import { logOf, ofType, soon, until } from "./testing/waiting.ts";

const echo = tool({
  name: "echo",
  description: "Says it again.",
  input: z.object({ say: z.string() }),
  rerun: "safe",
  execute: ({ say }) => say,
});

async function guideOf(
  turns: readonly ScriptedReply[],
  limits: Parameters<typeof agent>[0]["limits"] = {},
  options: Parameters<typeof scriptedModel>[1] = {},
) {
  const model = scriptedModel(turns, options);
  const guide = agent({ name: "guide", model, instructions: "Short.", tools: [echo], limits });
  return { guide, model, runtime: await testRuntime({ agents: [guide] }) };
}

function liveOf(run: Run<unknown>): { readonly seen: LiveBody[]; readonly ended: Promise<void> } {
  const seen: LiveBody[] = [];
  const watch = async (): Promise<void> => {
    for await (const { event } of run.events()) if (isLive(event)) seen.push(event);
  };
  return { seen, ended: watch() };
}

const call = (say: string): ScriptedTurn => ({ calls: [{ name: "echo", input: { say } }] });

describe("a run", () => {
  it("STREAM-01 writes the facts of section 4 in their order", async () => {
    const { runtime, guide } = await guideOf([{ text: "Take one." }]);
    const run = await runtime.send(guide, "Umbrella?");
    expect(await soon(run.text())).toBe("Take one.");
    const log = await logOf(runtime.store, run.session.id);
    expect(log.map(({ seq, type, key, runId }) => [seq, type, key, runId])).toEqual([
      [1, "session.created", "session", undefined],
      [2, "input.accepted", "input/in_1", "run_1"],
      [3, "run.started", "run_1/started", "run_1"],
      [4, "prefix.set", expect.stringMatching(/^run_1\/prefix\/0\/[0-9a-f]{64}$/), "run_1"],
      [5, "message.added", "run_1/input/in_1", "run_1"],
      [6, "turn.started", "run_1/turn/1/started/1", "run_1"],
      [7, "message.added", "run_1/turn/1/message", "run_1"],
      [8, "turn.finished", "run_1/turn/1/finished", "run_1"],
      [9, "run.finished", "run_1/finished", "run_1"],
    ]);
    expect(new Set(log.map((fact) => fact.at))).toEqual(new Set([runtime.clock.now()]));
    await runtime.close();
  });

  it("LOOP-26 gives a whole result", async () => {
    const usage = { inputTokens: 7, outputTokens: 3, costMicroUsd: 11 };
    const { runtime, guide } = await guideOf([
      { ...call("hi"), usage },
      { text: "Said hi.", usage },
    ]);
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.result())).toEqual({
      status: "finished",
      reason: "end-turn",
      text: "Said hi.",
      output: "Said hi.",
      requests: [],
      turns: 2,
      hooks: [],
      usage: { inputTokens: 14, outputTokens: 6, costMicroUsd: 22 },
      treeUsage: { inputTokens: 14, outputTokens: 6, costMicroUsd: 22 },
      messages: [
        { id: "in_1", role: "user", parts: [{ type: "text", text: "Go" }] },
        {
          id: "run_1/turn/1/message",
          role: "assistant",
          parts: [{ type: "tool-call", callId: "run_1/1/0", name: "echo", input: { say: "hi" }, by: "capstan" }],
        },
        {
          id: "run_1/turn/1/message/results",
          role: "user",
          parts: [
            {
              type: "tool-result",
              callId: "run_1/1/0",
              name: "echo",
              output: { content: [{ type: "text", text: "hi" }] },
            },
          ],
        },
        { id: "run_1/turn/2/message", role: "assistant", parts: [{ type: "text", text: "Said hi." }] },
      ],
    });
    await runtime.close();
  });

  it("MODEL-20 OBS-04 records model, prefix and response of every turn", async () => {
    const model: Model = {
      id: "some/model",
      capabilities: {},
      async *stream() {
        yield [{ type: "start", model: "some/model-v2", responseId: "resp_9" }] as const;
        yield [
          { type: "block-start", index: 0, block: { type: "text" } },
          { type: "block-delta", index: 0, delta: "Ok" },
          { type: "block-end", index: 0, part: { type: "text", text: "Ok" } },
          {
            type: "finish",
            reason: "stop",
            rawReason: "end_turn",
            usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 4 },
          },
        ] as const;
      },
    };
    const guide = agent({ name: "guide", model, instructions: "x" });
    const runtime = await testRuntime({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    await soon(run.text());
    const log = await logOf(runtime.store, run.session.id);
    const [prefix] = ofType(log, "prefix.set");
    expect(ofType(log, "turn.started")).toEqual([
      expect.objectContaining({ turn: 1, attempt: 1, model: "some/model", prefixHash: prefix?.hash }),
    ]);
    expect(ofType(log, "turn.finished")).toEqual([
      {
        type: "turn.finished",
        key: "run_1/turn/1/finished",
        runId: "run_1",
        seq: 8,
        at: runtime.clock.now(),
        turn: 1,
        reason: "stop",
        rawReason: "end_turn",
        model: "some/model-v2",
        responseId: "resp_9",
        usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 4 },
        firstDeltaMs: 0,
      },
    ]);
    await runtime.close();
  });

  it("LOOP-28 measures the time to the first delta on the clock", async () => {
    const gate = Promise.withResolvers<void>();
    const model: Model = {
      id: "slow/model",
      capabilities: {},
      async *stream() {
        yield [{ type: "start", model: "slow/model" }] as const;
        await gate.promise;
        yield [
          { type: "block-start", index: 0, block: { type: "text" } },
          { type: "block-delta", index: 0, delta: "Ok" },
          { type: "block-end", index: 0, part: { type: "text", text: "Ok" } },
          { type: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } },
        ] as const;
      },
    };
    const guide = agent({ name: "guide", model, instructions: "x" });
    const runtime = await testRuntime({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    await runtime.clock.advance(420);
    gate.resolve();
    await soon(run.text());
    expect(ofType(await logOf(runtime.store, run.session.id), "turn.finished")[0]?.firstDeltaMs).toBe(420);
    await runtime.close();
  });

  it("COST-04 COST-05 tells the size of the context after each turn", async () => {
    const model = scriptedModel([{ text: "Hi", usage: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 5 } }], {
      capabilities: { contextTokens: 1_000 },
    });
    const guide = agent({ name: "guide", model, instructions: "x" });
    const runtime = await testRuntime({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    const live = liveOf(run);
    await soon(live.ended);
    expect(live.seen.filter(({ type }) => type === "usage.updated")).toEqual([
      expect.objectContaining({
        contextTokens: 17,
        contextSize: 1_000,
        session: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 5 },
      }),
    ]);
    await runtime.close();
  });
});

describe("the end of a model call", () => {
  const ends: readonly [ScriptedTurn, string, string | undefined, string][] = [
    [{ text: "Hal", reason: "length" }, "max-tokens", "Hal", "limit-reached"],
    [{ text: "No.", reason: "refusal" }, "refusal", "No.", "model-refused"],
    [{ text: "", reason: "refusal" }, "refusal", undefined, "model-refused"],
    [{ text: "Ba", reason: "content-filter" }, "content-filter", "Ba", "model-refused"],
    [{ text: "x", reason: "context-exceeded" }, "context-exceeded", "x", "model-context-exceeded"],
  ];
  for (const [turn, reason, text, code] of ends) {
    it(`LOOP-19 LOOP-29 ${turn.reason} with ${JSON.stringify(turn.text)} ends the run with ${reason}`, async () => {
      const { runtime, guide } = await guideOf([turn]);
      const run = await runtime.send(guide, "Go");
      const result = await soon(run.result());
      expect([result.reason, result.text, result.output]).toEqual([reason, text ?? "", undefined]);
      await expect(run.text()).rejects.toMatchObject({ code });
      await runtime.close();
    });
  }

  it("LOOP-19 a length in the middle of calls keeps the text and none of the calls", async () => {
    const { runtime, guide } = await guideOf([{ text: "I will", ...call("x"), reason: "length" }]);
    const run = await runtime.send(guide, "Go");
    expect(await transcript(run)).toBe(
      "user: Go\nassistant: I will\nturn ended: length\nend: max-tokens after 1 turn\n",
    );
    await runtime.close();
  });

  it("LOOP-07 tool-calls without a call is the end of the turn", async () => {
    const { runtime, guide } = await guideOf([{ text: "Done", reason: "tool-calls" }]);
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.text())).toBe("Done");
    expect(ofType(await logOf(runtime.store, run.session.id), "turn.finished")[0]?.reason).toBe("stop");
    await runtime.close();
  });

  it("LOOP-20 a paused turn is continued with the same history", async () => {
    const { runtime, guide, model } = await guideOf([{ text: "First.", reason: "paused" }, { text: "Second." }]);
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.text())).toBe("Second.");
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    await runtime.close();
  });

  it("a turn that says nothing adds no message", async () => {
    const { runtime, guide } = await guideOf([{}]);
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.result())).toMatchObject({ reason: "end-turn", text: "", turns: 1 });
    expect(ofType(await logOf(runtime.store, run.session.id), "message.added")).toHaveLength(1);
    await runtime.close();
  });

  it("MODEL-16 keeps finished reasoning with its seal", async () => {
    const { runtime, guide } = await guideOf([{ reasoning: "Hm.", seal: { sig: "s" }, text: "So." }]);
    const run = await runtime.send(guide, "Go");
    const { messages } = await soon(run.result());
    expect(messages[1]?.parts).toEqual([
      { type: "reasoning", text: "Hm.", seal: { provider: "scripted", data: { sig: "s" } } },
      { type: "text", text: "So." },
    ]);
    await runtime.close();
  });
});

describe("model faults", () => {
  const rateLimited = (retryAfterMs?: number): Error =>
    new CapstanError("model-rate-limited", "Slow down", {
      retryable: true,
      status: 429,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });

  it("MODEL-12 retries a cut answer after a turn.reset that voids what was shown", async () => {
    const { runtime, guide } = await guideOf([
      (_request, attempt) => (attempt === 1 ? { text: "Half of", cutAfter: 1 } : { text: "All of it." }),
    ]);
    const run = await runtime.send(guide, "Go");
    const live = liveOf(run);
    await until(() => live.seen.some(({ type }) => type === "turn.reset"), "the reset");
    const before = await logOf(runtime.store, run.session.id);
    expect(ofType(before, "message.added")).toHaveLength(1);
    await runtime.clock.advance(499);
    expect(ofType(await logOf(runtime.store, run.session.id), "turn.started")).toHaveLength(1);
    await runtime.clock.advance(1);
    expect(await soon(run.text())).toBe("All of it.");
    await soon(live.ended);
    expect(live.seen.filter(({ type }) => type === "turn.reset")).toEqual([
      expect.objectContaining({
        turn: 1,
        attempt: 2,
        delayMs: 500,
        error: {
          code: "model-cut",
          message: "The model's answer was cut off before its end; try again",
          retryable: true,
        },
      }),
    ]);
    const log = await logOf(runtime.store, run.session.id);
    expect(ofType(log, "turn.started").map(({ turn, attempt }) => [turn, attempt])).toEqual([
      [1, 1],
      [1, 2],
    ]);
    expect(ofType(log, "turn.finished")).toHaveLength(1);
    await runtime.close();
  });

  it("MODEL-12 waits as long as the provider asks", async () => {
    const { runtime, guide, model } = await guideOf([
      (_request, attempt) => (attempt === 1 ? { error: rateLimited(7_000) } : { text: "Ok" }),
    ]);
    const run = await runtime.send(guide, "Go");
    await until(() => model.requests.length === 1);
    await runtime.clock.advance(6_999);
    expect(model.requests).toHaveLength(1);
    await runtime.clock.advance(1);
    expect(await soon(run.text())).toBe("Ok");
    await runtime.close();
  });

  it("does not wait longer than the budget for retries", async () => {
    const { runtime, guide } = await guideOf([{ error: rateLimited(120_001) }]);
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.result())).toMatchObject({
      reason: "error",
      error: { code: "model-rate-limited", message: "Slow down", retryable: true, status: 429 },
    });
    await runtime.close();
  });

  it("LOOP-29 gives up after the last attempt, with the text of the last answer and without its calls", async () => {
    const cut: ScriptedReply = { text: "Partial", ...call("x"), cutAfter: 3 };
    const { runtime, guide, model } = await guideOf([cut, cut, cut, cut, cut]);
    const run = await runtime.send(guide, "Go");
    const result = run.result();
    for (let attempt = 1; attempt < 5; attempt++) {
      await until(() => model.requests.length >= attempt);
      await runtime.clock.advance(8_000);
    }
    expect(await soon(result)).toMatchObject({
      reason: "error",
      text: "Partial",
      turns: 1,
      error: { code: "model-cut", retryable: true },
    });
    expect(model.requests).toHaveLength(5);
    const log = await logOf(runtime.store, run.session.id);
    expect(ofType(log, "message.added").at(-1)?.message.parts).toEqual([{ type: "text", text: "Partial" }]);
    await expect(run.text()).rejects.toMatchObject({ code: "model-cut" });
    await runtime.close();
  });

  it("LOOP-29 does not retry what will fail again", async () => {
    const { runtime, guide, model } = await guideOf([
      { error: new CapstanError("model-auth", "Bad key", { status: 401 }) },
    ]);
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.result())).toMatchObject({ reason: "error", error: { code: "model-auth", status: 401 } });
    expect(model.requests).toHaveLength(1);
    await runtime.close();
  });

  it("CTX-05 tells a context that is too long from other failures", async () => {
    const { runtime, guide } = await guideOf([{ error: new CapstanError("model-context-exceeded", "Too long") }]);
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.result())).toMatchObject({
      reason: "context-exceeded",
      error: { code: "model-context-exceeded" },
    });
    await runtime.close();
  });

  it("makes a bug of a model a failure of the run", async () => {
    const { runtime, guide } = await guideOf([{ error: new TypeError("x is not a function") }]);
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.result())).toMatchObject({
      reason: "error",
      error: { code: "model-failed", message: "x is not a function", retryable: false },
    });
    await runtime.close();
  });

  it("LOOP-29 a model that cannot be resolved ends the run and not the session", async () => {
    const { runtime, guide } = await guideOf([{ text: "Ok" }]);
    const broken = await runtime.session({ agent: guide });
    const none = agent({ name: "none", model: "nobody/knows", instructions: "x" });
    await expect(testRuntime({ agents: [none] })).rejects.toThrow(/nobody\/knows/);
    expect(await soon((await broken.send("Go")).text())).toBe("Ok");
    await runtime.close();
  });
});

describe("limits of a run", () => {
  it("LOOP-04 ends with max-turns when the model goes on calling", async () => {
    const { runtime, guide, model } = await guideOf([call("a"), call("b"), call("c")], { turns: 2 });
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.result())).toMatchObject({ reason: "max-turns", turns: 2 });
    expect(model.requests).toHaveLength(2);
    await expect(run.text()).rejects.toMatchObject({ code: "limit-reached" });
    await runtime.close();
  });

  it("LOOP-04 stops after 50 turns when nobody said otherwise", async () => {
    const { runtime, guide } = await guideOf(Array.from({ length: 60 }, (_, index) => call(String(index))));
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.result())).toMatchObject({ reason: "max-turns", turns: 50 });
    await runtime.close();
  });

  it("EDGE-08 ends with budget when the tokens are used up", async () => {
    const usage = { inputTokens: 1_000, outputTokens: 0 };
    const turns = [call("a"), call("b"), call("c")].map((turn) => ({ ...turn, usage }));
    const { runtime, guide } = await guideOf(turns, { tokens: 3_000 });
    const run = await runtime.send(guide, "Go");
    // what a third call could take at most is more than what is left
    expect(await soon(run.result())).toMatchObject({ reason: "budget", turns: 2, usage: { inputTokens: 2_000 } });
    await runtime.close();
  });

  it("COST-08 ends with budget when the money is spent", async () => {
    const usage = { inputTokens: 1, outputTokens: 0, costMicroUsd: 600_000 };
    const turns = [{ ...call("a"), usage }, { ...call("b"), usage }, call("c")];
    const { runtime, guide } = await guideOf(turns, { usd: 1 }, { price: { input: 1, output: 10 } });
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.result())).toMatchObject({ reason: "budget", turns: 2 });
    await runtime.close();
  });

  it("COST-08 refuses a limit of money for a model without a price", async () => {
    const { runtime, guide } = await guideOf([call("a")], { usd: 1 });
    const run = await runtime.send(guide, "Go");
    expect(await soon(run.result())).toMatchObject({ reason: "error", error: { code: "price-unknown" } });
    await runtime.close();
  });

  it("LOOP-05 ends with deadline in the middle of a model call and keeps what was said", async () => {
    const { runtime, guide } = await guideOf([{ text: "Slowly", hold: new Promise(() => undefined) }], {
      wallMs: 1_000,
    });
    const run = await runtime.send(guide, "Go");
    const result = run.result();
    await until(async () => ofType(await logOf(runtime.store, run.session.id), "turn.started").length === 1);
    await runtime.clock.advance(1_000);
    expect(await soon(result)).toMatchObject({ reason: "deadline", text: "Slo", turns: 1 });
    await expect(run.text()).rejects.toMatchObject({ code: "limit-reached" });
    await runtime.close();
  });

  it("LOOP-05 ends with deadline while a tool works", async () => {
    const started = Promise.withResolvers<void>();
    const slow = tool({
      name: "slow",
      description: "Waits.",
      input: z.object({}),
      execute: (_input, { signal }) =>
        new Promise<string>((_resolve, reject) => {
          started.resolve();
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    });
    const model = scriptedModel([{ calls: [{ name: "slow", input: {} }] }]);
    const guide = agent({ name: "guide", model, instructions: "x", tools: [slow], limits: { wallMs: 5_000 } });
    const runtime = await testRuntime({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    await started.promise;
    await runtime.clock.advance(5_000);
    expect(await soon(run.result())).toMatchObject({ reason: "deadline", turns: 1 });
    expect(ofType(await logOf(runtime.store, run.session.id), "tool.finished")).toEqual([
      expect.objectContaining({ status: "cancelled" }),
    ]);
    await runtime.close();
  });

  it("LOOP-05 a deadline that was met leaves nothing behind for the next run", async () => {
    const { runtime, guide } = await guideOf([{ text: "One" }, { text: "Two", hold: Promise.resolve() }], {
      wallMs: 1_000,
    });
    const session = await runtime.session({ agent: guide });
    await soon((await session.send("Go")).text());
    await runtime.clock.advance(999);
    const second = await session.send("Again");
    await runtime.clock.advance(500);
    expect(await soon(second.text())).toBe("Two");
    await runtime.close();
  });
});

describe("inputs of a busy session", () => {
  async function busy(turns: readonly ScriptedReply[] = []) {
    const gate = Promise.withResolvers<void>();
    const all = await guideOf([{ text: "First.", hold: gate.promise }, ...turns]);
    const session = await all.runtime.session({ agent: all.guide });
    const first = await session.send("one");
    await until(() => all.model.requests.length === 1);
    return { ...all, session, first, open: () => gate.resolve() };
  }

  it("LOOP-13 LOOP-15 queues them and runs them one after the other in their order", async () => {
    const { runtime, session, first, open, model } = await busy([{ text: "Second." }, { text: "Third." }]);
    const second = await session.send("two");
    const third = await session.send("three");
    await until(async () => (await session.state()).queue.length === 2);
    expect((await session.state()).status).toBe("running");
    expect(model.requests).toHaveLength(1);
    open();
    expect(await soon(Promise.all([first.text(), second.text(), third.text()]))).toEqual([
      "First.",
      "Second.",
      "Third.",
    ]);
    const log = await logOf(runtime.store, session.id);
    expect(ofType(log, "run.started").map(({ runId }) => runId)).toEqual([first.id, second.id, third.id]);
    expect((await session.state()).status).toBe("idle");
    await runtime.close();
  });

  it("LOOP-14 a steer is heard at the next boundary and shares the run", async () => {
    const gate = Promise.withResolvers<void>();
    const { runtime, guide, model } = await guideOf([{ ...call("a"), hold: gate.promise }, { text: "Both." }]);
    const session = await runtime.session({ agent: guide });
    const run = await session.send("one");
    await until(() => model.requests.length === 1);
    const steer = await session.send("and this", { ifBusy: "steer" });
    gate.resolve();
    expect(await soon(steer.text())).toBe("Both.");
    expect(steer.id).toBe(run.id);
    expect(await soon(run.text())).toBe("Both.");
    expect(await transcript(run)).toBe(
      'user: one\nassistant: calls echo {"say":"a"}\necho ok: a\nuser: and this\nassistant: Both.\nend: end-turn after 2 turns\n',
    );
    expect(model.requests[1]?.messages.map(({ role, parts }) => [role, parts[0]?.type])).toEqual([
      ["user", "text"],
      ["assistant", "tool-call"],
      ["user", "tool-result"],
      ["user", "text"],
    ]);
    await runtime.close();
  });

  it("LOOP-14 a steer that comes when the model is done gives the run one more turn", async () => {
    const { runtime, session, first, open } = await busy([{ text: "More." }]);
    await session.send("wait", { ifBusy: "steer" });
    await until(async () => (await session.state()).queue.length === 1);
    open();
    expect(await soon(first.result())).toMatchObject({ reason: "end-turn", text: "More.", turns: 2 });
    await runtime.close();
  });

  it("LOOP-14 a steer to an idle session is an ordinary input", async () => {
    const { runtime, guide } = await guideOf([{ text: "Ok" }]);
    const session = await runtime.session({ agent: guide });
    const run = await session.send("hi", { ifBusy: "steer" });
    expect(await soon(run.text())).toBe("Ok");
    await runtime.close();
  });

  it("LOOP-13 reject refuses with session-busy and changes nothing", async () => {
    const { runtime, session, first, open } = await busy();
    await expect(session.send("no", { ifBusy: "reject" })).rejects.toMatchObject({
      code: "session-busy",
      retryable: true,
    });
    open();
    await soon(first.text());
    expect(ofType(await logOf(runtime.store, session.id), "input.accepted")).toHaveLength(1);
    const again = await session.send("now", { ifBusy: "reject" });
    expect(await soon(again.text())).toBe("Done.");
    await runtime.close();
  });

  it("EDGE-05 interrupt ends the run and goes on with what was queued before, in its order", async () => {
    const { runtime, session, first } = await busy([{ text: "Second." }, { text: "Third." }]);
    const second = await session.send("two");
    const third = await session.send("three", { ifBusy: "interrupt" });
    expect(await soon(first.result())).toMatchObject({ reason: "interrupted" });
    expect(await soon(Promise.all([second.text(), third.text()]))).toEqual(["Second.", "Third."]);
    await runtime.close();
  });

  it("EDGE-05 interrupt to an idle session is an ordinary input", async () => {
    const { runtime, guide } = await guideOf([{ text: "Ok" }]);
    const session = await runtime.session({ agent: guide });
    const run = await session.send("hi", { ifBusy: "interrupt" });
    expect(await soon(run.text())).toBe("Ok");
    await runtime.close();
  });

  it("withdraw takes back what no run has taken up, once", async () => {
    const { runtime, session, first, open, model } = await busy();
    const second = await session.send("two");
    await until(async () => (await session.state()).queue.length === 1);
    await session.withdraw(second.inputId);
    await until(async () => (await session.state()).queue.length === 0);
    await session.withdraw(second.inputId);
    await session.withdraw(first.inputId);
    open();
    await soon(first.text());
    expect(await soon(second.result())).toMatchObject({ status: "finished", turns: 0, text: "" });
    await expect(second.text()).rejects.toMatchObject({ code: "interrupted" });
    expect(model.requests).toHaveLength(1);
    const log = await logOf(runtime.store, session.id);
    expect(ofType(log, "input.withdrawn")).toHaveLength(1);
    expect((await session.state()).status).toBe("idle");
    await runtime.close();
  });

  it("LOOP-13 sessions do not wait for each other", async () => {
    const { runtime, guide, session, first, open } = await busy();
    const other = await runtime.send(guide, "else");
    await until(async () => (await runtime.sessions()).length === 2);
    expect(other.session.id).not.toBe(session.id);
    expect((await session.state()).status).toBe("running");
    open();
    expect(await soon(first.text())).toBe("First.");
    await soon(other.text());
    await runtime.close();
  });
});

describe("deltas", () => {
  it("STREAM-01 come as the model says them and join to the text", async () => {
    const { runtime, guide } = await guideOf([{ reasoning: "Hm", text: "One two three", deltas: 4 }]);
    const run = await runtime.send(guide, "Go");
    const seen: string[] = [];
    for await (const { text, reset } of run.deltas()) seen.push(reset ? "<reset>" : text);
    expect(seen.join("")).toBe("One two three");
    await runtime.close();
  });

  it("STREAM-01 carry block, offset and cursor", async () => {
    const gate = Promise.withResolvers<void>();
    const { runtime, guide } = await guideOf([{ text: "abcdef", deltas: 3, hold: gate.promise }]);
    const session = await runtime.session({ agent: guide });
    const events: unknown[] = [];
    const reading = (async () => {
      for await (const { event } of session.events({ after: "end" })) {
        if (isLive(event)) events.push(event);
        if (event.type === "run.finished") return;
      }
    })();
    const run = await session.send("Go");
    await until(() => events.length >= 2);
    gate.resolve();
    await soon(reading);
    const at = runtime.clock.now();
    const live = { seq: 6, at, runId: run.id };
    const blockId = `${run.id}/turn/1/1/0`;
    const messageId = `${run.id}/turn/1/message`;
    expect(events.slice(0, 5)).toEqual([
      { ...live, eph: 1, type: "block.started", messageId, blockId, block: { type: "text" } },
      { ...live, eph: 2, type: "text.delta", blockId, offset: 0, delta: "ab" },
      { ...live, eph: 3, type: "text.delta", blockId, offset: 2, delta: "cd" },
      { ...live, eph: 4, type: "text.delta", blockId, offset: 4, delta: "ef" },
      { ...live, eph: 5, type: "block.finished", messageId, blockId, part: { type: "text", text: "abcdef" } },
    ]);
    await runtime.close();
  });

  it("names a call while its arguments stream as it is named in the log", async () => {
    const { runtime, guide } = await guideOf([
      {
        calls: [
          { name: "echo", input: { say: "a" } },
          { name: "echo", input: { say: "b" } },
        ],
      },
      { text: "Ok" },
    ]);
    const run = await runtime.send(guide, "Go");
    const live = liveOf(run);
    await soon(live.ended);
    const shown = live.seen.flatMap((event) =>
      event.type === "block.started" && event.block.type === "tool-input" ? event.block.callId : [],
    );
    const stored = ofType(await logOf(runtime.store, run.session.id), "tool.finished").map(({ callId }) => callId);
    expect(shown).toEqual(stored);
    await runtime.close();
  });
});

describe("a model that misbehaves", () => {
  function modelOf(stream: Model["stream"]): Model {
    return { id: "odd/model", capabilities: {}, stream };
  }
  const finish: ModelEvent = { type: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } };

  it("a delta without a block, an end without a start and an empty delta do no harm", async () => {
    const model = modelOf(async function* () {
      yield [
        { type: "block-delta", index: 9, delta: "lost" },
        { type: "block-end", index: 1, part: { type: "text", text: "whole" } },
        { type: "block-start", index: 2, block: { type: "text" } },
        { type: "block-delta", index: 2, delta: "" },
        finish,
      ];
    });
    const guide = agent({ name: "guide", model, instructions: "x" });
    const runtime = await testRuntime({ agents: [guide] });
    expect(await soon((await runtime.send(guide, "Go")).text())).toBe("whole");
    await runtime.close();
  });

  it("keeps the parts in the order of their blocks, whatever order they end in", async () => {
    const model = modelOf(async function* () {
      yield [
        { type: "block-start", index: 0, block: { type: "text" } },
        { type: "block-start", index: 1, block: { type: "text" } },
        { type: "block-end", index: 1, part: { type: "text", text: "second" } },
        { type: "block-end", index: 0, part: { type: "text", text: "first " } },
        finish,
      ];
    });
    const guide = agent({ name: "guide", model, instructions: "x" });
    const runtime = await testRuntime({ agents: [guide] });
    expect(await soon((await runtime.send(guide, "Go")).text())).toBe("first second");
    await runtime.close();
  });

  it("LOOP-36 EDGE-05 an interrupt does not wait for a model that ignores its signal", async () => {
    const asked = Promise.withResolvers<void>();
    const model = modelOf(async function* () {
      yield [
        { type: "block-start", index: 0, block: { type: "text" } },
        { type: "block-delta", index: 0, delta: "Deaf" },
      ];
      asked.resolve();
      await new Promise(() => undefined);
    });
    const guide = agent({ name: "guide", model, instructions: "x" });
    const runtime = await testRuntime({ agents: [guide] });
    const run = await runtime.send(guide, "Go");
    await asked.promise;
    const interrupted = run.session.interrupt();
    await runtime.clock.advance(1_000);
    await soon(interrupted);
    expect(await soon(run.result())).toMatchObject({ reason: "interrupted" });
    expect((await run.result()).messages.at(-1)?.parts).toEqual([
      { type: "text", text: "Deaf" },
      { type: "text", text: "<system>User interrupted this message</system>" },
    ]);
    await soon(runtime.close({ graceMs: 0 }));
  });

  it("LOOP-12 close does not wait for ever for a model that ignores its signal", async () => {
    const asked = Promise.withResolvers<void>();
    const model = modelOf(async function* () {
      yield [];
      asked.resolve();
      await new Promise(() => undefined);
    });
    const guide = agent({ name: "guide", model, instructions: "x" });
    const runtime = await testRuntime({ agents: [guide] });
    await runtime.send(guide, "Go");
    await asked.promise;
    const closed = runtime.close({ graceMs: 100 });
    await runtime.clock.advance(2_000);
    await soon(closed);
  });
});
