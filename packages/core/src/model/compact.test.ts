import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agent } from "../ports/agent.ts";
import { CapstanError } from "../words/errors.ts";
import { isLive } from "../words/event.ts";
import { INTERRUPT_MARKER } from "../state/said.ts";
import { LIMITS } from "../words/limits.ts";
import { textOf } from "../words/message.ts";
import type { ModelRequest } from "../ports/model.ts";
import { type Plugin, plugin } from "../ports/plugin.ts";
import { crashSweep } from "../testing/crash-sweep.ts";
import { scriptedModel, type ScriptedModel, type ScriptedReply, type ScriptedTurn } from "../testing/scripted-model.ts";
import { testRuntime } from "../testing/test-runtime.ts";
import { logOf, ofType, soon, until } from "../testing/waiting.ts";
import { tool } from "../ports/tool.ts";

const LONG = "word ".repeat(400);
const read = tool({ name: "read", description: "Reads.", input: z.object({}), rerun: "safe", execute: () => LONG });
const call = { text: LONG, calls: [{ name: "read", input: {} }] } as const;
/** The history, not its length, says what comes next: a compaction makes it shorter. */
const always = (reply: (request: ModelRequest, attempt: number) => ScriptedTurn): readonly ScriptedReply[] =>
  Array.from({ length: 9 }, () => reply);
const isSummed = ({ messages }: ModelRequest): boolean => messages.some(({ id }) => id.startsWith("compaction/"));
const results = ({ messages }: ModelRequest): number =>
  messages.filter(({ parts }) => parts[0]?.type === "tool-result").length;
const tooLong: ScriptedTurn = { error: new CapstanError("model-context-exceeded", "Too long") };

/** Sums up everything but the last message that is no result, by a model of its own, once `when` says so. */
function summing(
  writer: ScriptedModel,
  when: (request: ModelRequest, own: number) => boolean = () => false,
  summary?: string,
): Plugin {
  return plugin<number>({
    name: "summing",
    fold: { start: 0, next: (count, { type }) => (type === "context.compacted" ? count + 1 : count) },
    async prepare(request, context) {
      if (!when(request, context.own)) return;
      const { text } = await context.askModel("summary", {
        model: writer,
        system: "Sum up.",
        messages: request.messages.slice(0, 1),
      });
      const parts = [{ type: "text", text: summary ?? text }] as const;
      await context.compact({ through: placeIn(request), summary: parts, trigger: "auto" });
    },
    async overflow(request, context) {
      const { text } = await context.askModel("summary", { model: writer, system: "Sum up.", messages: [] });
      const parts = [{ type: "text", text: summary ?? text }] as const;
      await context.compact({ through: placeIn(request), summary: parts, trigger: "overflow" });
    },
  });
}

/** The last message behind which no call is left without its result. */
function placeIn({ messages }: ModelRequest): string {
  const index = messages.findLastIndex(
    ({ role, parts }, at) =>
      at < messages.length - 1 && !(role === "assistant" && parts.some(({ type }) => type === "tool-call")),
  );
  return messages[Math.max(index, 0)]?.id ?? "";
}

const writerOf = (text = "What was done."): ScriptedModel =>
  scriptedModel([{ text, usage: { inputTokens: 100, outputTokens: 10 } }], { id: "scripted/writer" });

function workerOf(turns: readonly ScriptedReply[], plugins: readonly Plugin[], limits = {}) {
  const model = scriptedModel(turns);
  return { model, worker: agent({ name: "worker", model, instructions: "Work.", tools: [read], plugins, limits }) };
}

async function played(turns: readonly ScriptedReply[], plugins: readonly Plugin[], limits = {}) {
  const { model, worker } = workerOf(turns, plugins, limits);
  const runtime = await testRuntime({ agents: [worker] });
  const session = await runtime.session({ agent: worker });
  const result = await soon((await session.send("Go")).result());
  const log = await logOf(runtime.store, session.id);
  return { model, runtime, session, result, log };
}

const texts = (request: ModelRequest | undefined): readonly string[] =>
  (request?.messages ?? []).map(({ role, parts }) => `${role}: ${textOf(parts) || parts[0]?.type}`);
const twice = ({ messages }: ModelRequest, own: number): boolean => own === 0 && messages.length >= 5;

describe("compaction by a plugin", () => {
  const turns = always((request) => (isSummed(request) || results(request) === 2 ? { text: "End." } : call));

  it("CTX-01 CTX-08 the request is rebuilt with the summary; the facts stay, and people see them all", async () => {
    const { model, session, log, runtime } = await played(turns, [summing(writerOf(), twice)]);
    expect(texts(model.requests[2])).toEqual(["user: What was done.", `assistant: ${LONG}`, "user: tool-result"]);
    const [compacted] = ofType(log, "context.compacted");
    expect(compacted).toMatchObject({ trigger: "auto", summary: [{ type: "text", text: "What was done." }] });
    expect(compacted?.tokensAfter).toBeLessThan(compacted?.tokensBefore ?? 0);
    const shown = await session.messages();
    expect(shown.map(({ role }) => role).slice(0, 5)).toEqual(["user", "assistant", "user", "assistant", "user"]);
    expect(shown.some(({ parts }) => textOf(parts) === "What was done.")).toBe(false);
    expect((await session.state()).contextTokens).toBeGreaterThan(0);
    await runtime.close();
  });

  it("COST-01 the question for the summary is a step: its cost is in the log, the run's usage and the session's", async () => {
    const { log, result, session, runtime } = await played(turns, [summing(writerOf(), twice)]);
    const step = ofType(log, "step.finished").find(({ name }) => name.endsWith("/summary"));
    expect(step).toMatchObject({ usage: { inputTokens: 100, outputTokens: 10 }, value: { text: "What was done." } });
    const sum = ofType(log, "turn.finished").reduce((total, { usage }) => total + usage.inputTokens, 0);
    expect(result.usage.inputTokens).toBe(sum + 100);
    expect((await session.state()).usage.inputTokens).toBe(sum + 100);
    await runtime.close();
  });

  it("EDGE-08 is reserved before it is asked, and a budget that does not pay it is said so", async () => {
    const limits = { tokens: 40_000 };
    const spent: ScriptedReply = { ...call, usage: { inputTokens: 1_000, outputTokens: 10 } };
    const { log, runtime } = await played([spent, spent, { text: "End." }], [summing(writerOf(), twice)], limits);
    const started = ofType(log, "step.started").find(({ name }) => name.endsWith("/summary"));
    expect(started?.reserved?.tokens).toBeGreaterThan(2_000);
    expect(ofType(log, "context.compacted")).toHaveLength(1);
    await runtime.close();
    const dear = always((request) => ({
      ...call,
      usage: { inputTokens: results(request) === 0 ? 10 : 8_000, outputTokens: 10 },
    }));
    const poor = await played(dear, [summing(writerOf(), twice)], { tokens: 8_100 });
    expect(poor.result).toMatchObject({ reason: "error", error: { code: "limit-reached" } });
    await poor.runtime.close();
  });

  it("EDGE-10 labels of what is summed up are those of the summary", async () => {
    const secret = tool({
      name: "read",
      description: "Reads.",
      input: z.object({}),
      rerun: "safe",
      execute: () => ({ content: [{ type: "text", text: LONG }], labels: ["secret"] }),
    });
    const model = scriptedModel(turns);
    const plugins = [summing(writerOf(), twice)];
    const worker = agent({ name: "worker", model, instructions: "Work.", tools: [secret], plugins });
    const runtime = await testRuntime({ agents: [worker] });
    const run = await runtime.send(worker, "Go");
    await soon(run.result());
    const [compacted] = ofType(await logOf(runtime.store, run.session.id), "context.compacted");
    expect(compacted?.labels).toEqual(["secret"]);
    expect(model.requests[2]?.messages[0]?.labels).toEqual(["secret"]);
    await runtime.close();
  });

  it("CTX-08 a session forked before the compaction has what was summed up", async () => {
    const writer = writerOf();
    const { model, session, log, runtime } = await played(turns, [summing(writer, twice)]);
    const at = (ofType(log, "context.compacted")[0]?.seq ?? 0) - 1;
    const fork = await session.fork({ at });
    await soon((await fork.send("And now?")).result());
    expect(texts(writer.requests.at(-1))).toEqual(["user: Go"]); // it is summed up once more, from its beginning
    expect(writer.requests).toHaveLength(2);
    const after = await session.fork();
    await soon((await after.send("And now?")).result());
    const later = model.requests.filter(({ sessionId }) => sessionId === after.id)[0];
    expect(texts(later)[0]).toBe("user: What was done.");
    await runtime.close();
  });

  it.each([
    ["an unknown message", { through: "nobody" }, "plugin-invalid"],
    ["an empty summary", { summary: [] }, "plugin-invalid"],
    ["a place between a call and its result", { through: "call" }, "plugin-invalid"],
    [
      "a summary as long as what it stands for",
      { summary: [{ type: "text", text: LONG.repeat(9) }] },
      "compaction-failed",
    ],
  ] as const)("CTX-01 %s is refused, and nothing is changed", async (_what, change, code) => {
    const codes: unknown[] = [];
    const wrong = plugin({
      name: "wrong",
      async prepare(request, context) {
        if (request.messages.length < 3) return;
        const own = request.messages.find(({ role }) => role === "assistant")?.id ?? "";
        const through = "through" in change && change.through !== "call" ? change.through : own;
        const place = "through" in change ? through : placeIn(request);
        const summary = "summary" in change ? change.summary : [{ type: "text", text: "Short." } as const];
        await context
          .compact({ trigger: "auto", through: place, summary })
          .catch((error: unknown) => codes.push(CapstanError.is(error) ? error.code : error));
      },
    });
    const { log, result, runtime } = await played([call, { text: "End." }], [wrong]);
    expect(codes).toEqual([code]);
    expect(result.reason).toBe("end-turn");
    expect(ofType(log, "context.compacted")).toEqual([]);
    await runtime.close();
  });

  it("DUR-03 CTX-01 survives a crash at every write: the summary is paid and applied once", async () => {
    const { worker } = workerOf(turns, [summing(writerOf(), twice)]);
    const report = await crashSweep({ agents: [worker], journey: (runtime) => runtime.send(worker, "Go") });
    expect(report.crashes).toBeGreaterThan(30);
  });

  for (const when of ["while the summary is written", "by a model that does not hear it"] as const) {
    it(`LOOP-08 CTX-01 an interrupt ${when} ends the run with nothing half applied`, async () => {
      const { promise } = Promise.withResolvers<void>();
      const deaf = when !== "while the summary is written";
      const slow = scriptedModel([{ text: "Never.", hold: promise }], { id: "scripted/writer" });
      const writer: ScriptedModel = deaf
        ? { ...slow, stream: (request) => slow.stream({ ...request, signal: new AbortController().signal }) }
        : slow;
      const { worker } = workerOf(turns, [
        summing(writer, (request, own) => slow.requests.length === 0 && twice(request, own)),
      ]);
      const runtime = await testRuntime({ agents: [worker] });
      const session = await runtime.session({ agent: worker });
      const run = await session.send("Go");
      await until(() => slow.requests.length === 1);
      const queued = await session.send("Next", { ifBusy: "queue" });
      const interrupted = session.interrupt();
      await until(async () => (await session.state()).run !== undefined);
      for (let tick = 0; tick < 20; tick++) await new Promise((resolve) => setImmediate(resolve));
      await runtime.clock.advance(LIMITS.interruptGraceMs);
      await soon(interrupted);
      expect(await soon(run.result())).toMatchObject({ reason: "interrupted" });
      const log = await logOf(runtime.store, session.id);
      expect(ofType(log, "context.compacted")).toEqual([]);
      const ends = ofType(log, "run.finished").filter(({ runId }) => runId === run.id);
      expect(ends).toHaveLength(1);
      const last = ofType(log, "message.added")
        .filter(({ runId }) => runId === run.id)
        .at(-1)?.message;
      expect(textOf(last?.parts ?? [])).toBe(INTERRUPT_MARKER);
      expect(ofType(log, "turn.started").filter(({ runId }) => runId === run.id)).toHaveLength(2);
      expect(queued.id).not.toBe(run.id);
      await runtime.close();
    });
  }

  it("LOOP-05 CTX-01 a steer that comes while the summary is written is heard at the next turn", async () => {
    const gate = Promise.withResolvers<void>();
    const writer = scriptedModel([{ text: "Short.", hold: gate.promise }], { id: "scripted/writer" });
    const { model, worker } = workerOf(turns, [summing(writer, twice)]);
    const runtime = await testRuntime({ agents: [worker] });
    const session = await runtime.session({ agent: worker });
    const run = await session.send("Go");
    await until(() => writer.requests.length === 1);
    await session.send("Faster", { ifBusy: "steer" });
    gate.resolve();
    await soon(run.result());
    expect(texts(model.requests[2])[0]).toBe("user: Short.");
    expect(texts(model.requests[3])).toContain("user: Faster");
    await runtime.close();
  });
});

describe("a turn that does not fit", () => {
  const overflowing = always((request) => {
    if (isSummed(request)) return { text: "End." };
    return results(request) === 2 ? tooLong : call;
  });

  it("CTX-05 is answered by a compaction and tried again", async () => {
    const { model, result, log, runtime } = await played(overflowing, [summing(writerOf())]);
    expect(result).toMatchObject({ reason: "end-turn" });
    expect(ofType(log, "turn.finished").map(({ reason }) => reason)).toContain("context-exceeded");
    expect(ofType(log, "context.compacted")).toMatchObject([{ trigger: "overflow" }]);
    expect(model.requests).toHaveLength(4);
    await runtime.close();
  });

  it("CTX-05 survives a crash at every write", async () => {
    const { worker } = workerOf(overflowing, [summing(writerOf())]);
    const report = await crashSweep({ agents: [worker], journey: (runtime) => runtime.send(worker, "Go") });
    expect(report.crashes).toBeGreaterThan(30);
  });

  it("CTX-05 that still does not fit ends the run with that reason, after one more try", async () => {
    const script = always((request) => (isSummed(request) || results(request) === 2 ? tooLong : call));
    const { model, result, log, runtime } = await played(script, [summing(writerOf())]);
    expect(result).toMatchObject({ reason: "context-exceeded", error: { code: "model-context-exceeded" } });
    expect(model.requests).toHaveLength(4);
    expect(ofType(log, "context.compacted")).toHaveLength(1);
    await runtime.close();
  });

  it("CTX-05 a compaction that does not shrink ends the run with its own code and never loops", async () => {
    const { result, model, log, runtime } = await played(
      always((request) => (results(request) === 2 ? tooLong : call)),
      [summing(writerOf(), undefined, LONG.repeat(20))],
    );
    expect(result).toMatchObject({ reason: "context-exceeded", error: { code: "compaction-failed" } });
    expect(model.requests).toHaveLength(3);
    expect(ofType(log, "context.compacted")).toEqual([]);
    await runtime.close();
  });

  it("CTX-05 an answer cut off by the window is gone on with, not begun again", async () => {
    const turns = always((request) => {
      if (isSummed(request)) return { text: "And the rest." };
      return results(request) === 2 ? { text: "Half", reason: "context-exceeded" } : call;
    });
    const { model, result, log, runtime } = await played(turns, [summing(writerOf())]);
    expect(result).toMatchObject({ reason: "end-turn", text: "And the rest." });
    const last = model.requests.at(-1)?.messages.at(-1);
    expect(last).toMatchObject({ role: "user" });
    expect(textOf(last?.parts ?? [])).toContain("Go on where you were cut off");
    expect(ofType(log, "context.compacted")).toHaveLength(1);
    await runtime.close();
  });

  it("CTX-05 without such a plugin ends as before, and says no word of it", async () => {
    const { result, runtime } = await played([tooLong], []);
    expect(result).toMatchObject({ reason: "context-exceeded", error: { code: "model-context-exceeded" } });
    await runtime.close();
  });
});

describe("a question of a hook to a model", () => {
  const asking = (writer: ScriptedModel, seen: unknown[]): Plugin =>
    plugin({
      name: "asking",
      async prepare(_request, context) {
        await context
          .askModel("q", {
            model: writer,
            system: "Say.",
            messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "x" }] }],
          })
          .then(({ text }) => seen.push(text))
          .catch((error: unknown) => seen.push(CapstanError.is(error) ? error.code : error));
      },
    });

  it("MODEL-08 is asked again after a fault that passes, and shows nothing live", async () => {
    const seen: unknown[] = [];
    const flaky = scriptedModel([
      (_request, attempt) =>
        attempt === 1 ? { error: new CapstanError("model-overloaded", "busy", { retryable: true }) } : { text: "Yes." },
    ]);
    const { worker } = workerOf([{ text: "End." }], [asking(flaky, seen)]);
    const runtime = await testRuntime({ agents: [worker] });
    const run = await runtime.send(worker, "Go");
    const live: string[] = [];
    const reading = (async () => {
      for await (const { event } of run.events())
        if (isLive(event) && event.type === "text.delta") live.push(event.delta);
    })();
    await until(() => flaky.requests.length === 1);
    await until(() => runtime.clock.pending > 0);
    await runtime.clock.advance(LIMITS.modelRetryBaseMs);
    await soon(run.result());
    expect(seen).toEqual(["Yes."]);
    await soon(reading);
    expect(live.join("")).toBe("End.");
    await runtime.close();
  });

  it("EDGE-08 a stream that was cut is charged as it was reserved", async () => {
    const seen: unknown[] = [];
    const cut = scriptedModel([{ text: "Half an answer", cutAfter: 1 }]);
    const { result, log, runtime } = await played([{ text: "End." }], [asking(cut, seen)], { tokens: 100_000 });
    expect(seen).toEqual(["model-cut"]);
    const step = ofType(log, "step.finished").find(({ name }) => name.endsWith("/q"));
    const started = ofType(log, "step.started").find(({ name }) => name.endsWith("/q"));
    expect(step).toMatchObject({ failed: expect.any(String), lost: started?.reserved });
    expect(result.reason).toBe("end-turn");
    await runtime.close();
  });
});
