import { describe, expect, it } from "vitest";
import {
  agent,
  CapstanError,
  type ErrorCode,
  type Event,
  type Model,
  type ModelCapabilities,
  type ModelEvent,
  type Price,
} from "@capstan/core";
import { modelContract, type ScriptedModel, scriptedModel, testRuntime } from "@capstan/core/testing";
import { fallback } from "./fallback.ts";
import { collectEvents, modelRequest, partsOf } from "./testing/index.ts";

const HELLO = modelRequest([{ id: "m", role: "user", parts: [{ type: "text", text: "Hello" }] }]);

function failing(id: string, code: ErrorCode, retryable = false, capabilities: ModelCapabilities = {}): ScriptedModel {
  return scriptedModel([{ error: new CapstanError(code, `${id} says ${code}`, { retryable }) }], { id, capabilities });
}

function saying(id: string, text: string, capabilities: ModelCapabilities = {}): ScriptedModel {
  return scriptedModel([{ text }], { id, capabilities });
}

function ofEvents(id: string, batches: readonly (readonly ModelEvent[])[], error?: Error): Model {
  return {
    id,
    capabilities: {},
    async *stream() {
      yield* batches;
      if (error !== undefined) throw error;
    },
  };
}

const noticesOf = (events: readonly ModelEvent[]) => events.filter(({ type }) => type === "notice");

describe("fallback", () => {
  it("MODEL-13 asks only the first while it answers", async () => {
    const second = saying("b/two", "Two");
    const model = fallback([saying("a/one", "One"), second]);
    const events = await collectEvents(model, HELLO);
    expect([model.id, partsOf(events), noticesOf(events), second.requests.length]).toEqual([
      "a/one",
      [{ type: "text", text: "One" }],
      [],
      0,
    ]);
  });

  it("MODEL-13 MODEL-20 says who could not answer and who is asked instead, and records who answered", async () => {
    const events = await collectEvents(
      fallback([
        failing("a/one", "model-overloaded", true),
        failing("b/two", "model-billing"),
        saying("c/three", "Hi"),
      ]),
      HELLO,
    );
    expect(noticesOf(events)).toEqual([
      {
        type: "notice",
        code: "model-fallback",
        title: "a/one could not answer; b/two is asked instead",
        detail: "a/one says model-overloaded",
      },
      {
        type: "notice",
        code: "model-fallback",
        title: "b/two could not answer; c/three is asked instead",
        detail: "b/two says model-billing",
      },
    ]);
    expect(events.filter(({ type }) => type === "start")).toEqual([{ type: "start", model: "c/three" }]);
    expect(partsOf(events)).toEqual([{ type: "text", text: "Hi" }]);
  });

  it("MODEL-20 records the provider beside the name that it gave", async () => {
    const wire = ofEvents("b/two", [
      [{ type: "start", model: "two-2026-11-01" }],
      [{ type: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 0 } }],
    ]);
    const events = await collectEvents(fallback([failing("a/one", "model-network", true), wire]), HELLO);
    expect(events[1]).toEqual({ type: "start", model: "b/two-2026-11-01" });
  });

  const helped: readonly ErrorCode[] = [
    "model-auth",
    "model-billing",
    "model-failed",
    "model-key-missing",
    "model-network",
    "model-not-found",
    "model-overloaded",
    "model-protocol",
    "model-rate-limited",
    "model-timeout",
  ];
  it.each(helped)("MODEL-13 goes on after %s", async (code) => {
    const events = await collectEvents(fallback([failing("a/one", code), saying("b/two", "Two")]), HELLO);
    expect(partsOf(events)).toEqual([{ type: "text", text: "Two" }]);
  });

  it.each(["model-invalid-request", "model-refused", "blob-missing", "limit-reached"] as const)(
    "MODEL-13 does not go on after %s",
    async (code) => {
      const second = saying("b/two", "Two");
      await expect(collectEvents(fallback([failing("a/one", code), second]), HELLO)).rejects.toMatchObject({ code });
      expect(second.requests).toEqual([]);
    },
  );

  it("goes on after what a model of one's own throws", async () => {
    const own = ofEvents("own/one", [], new TypeError("undefined is not a function"));
    const events = await collectEvents(fallback([own, saying("b/two", "Two")]), HELLO);
    expect(noticesOf(events)).toMatchObject([{ detail: "undefined is not a function" }]);
  });

  it("MODEL-13 takes a conversation that is too long to the next model with a larger context only", async () => {
    const small = failing("a/small", "model-context-exceeded", false, { contextTokens: 1_000 });
    const same = saying("b/same", "no", { contextTokens: 1_000 });
    const unknown = saying("c/unknown", "no");
    const large = saying("d/large", "Fits", { contextTokens: 1_001 });
    const events = await collectEvents(fallback([small, same, unknown, large]), HELLO);
    expect(partsOf(events)).toEqual([{ type: "text", text: "Fits" }]);
    expect(noticesOf(events)).toHaveLength(1);
    expect([same.requests, unknown.requests]).toEqual([[], []]);
    await expect(collectEvents(fallback([small, same]), HELLO)).rejects.toMatchObject({
      code: "model-context-exceeded",
    });
  });

  it("MODEL-13 leaves an answer that broke off in the middle to the loop", async () => {
    const second = saying("b/two", "Two");
    const broken = new CapstanError("model-overloaded", "too much", { retryable: true });
    const first = ofEvents(
      "a/one",
      [[{ type: "start", model: "one" }], [{ type: "block-start", index: 0, block: { type: "text" } }]],
      broken,
    );
    await expect(collectEvents(fallback([first, second]), HELLO)).rejects.toBe(broken);
    const cut = fallback([scriptedModel([{ text: "Half of it", cutAfter: 1 }]), second]);
    expect((await collectEvents(cut, HELLO)).at(-1)?.type).toBe("block-delta");
    expect(second.requests).toEqual([]);
  });

  it("MODEL-13 leaves no trace of a try that had begun and shown nothing, also when its stream just ended", async () => {
    const begun: readonly ModelEvent[][] = [
      [{ type: "start", model: "one" }],
      [{ type: "notice", code: "x", title: "A word" }],
    ];
    for (const error of [undefined, new CapstanError("model-failed", "broken")]) {
      const events = await collectEvents(fallback([ofEvents("a/one", begun, error), saying("b/two", "Two")]), HELLO);
      expect(events.map(({ type }) => type).slice(0, 3)).toEqual(["notice", "start", "block-start"]);
    }
  });

  it("MODEL-13 throws the last error that is worth a retry, else the last one", async () => {
    const busy = failing("a/one", "model-overloaded", true);
    const locked = failing("b/two", "model-auth");
    const gone = failing("c/three", "model-not-found");
    const thrown = (models: readonly Model[]) =>
      collectEvents(fallback(models), HELLO).catch((error: unknown) => error);
    expect(await thrown([busy, locked])).toMatchObject({ code: "model-overloaded", retryable: true });
    expect(await thrown([locked, busy])).toMatchObject({ code: "model-overloaded", retryable: true });
    expect(await thrown([locked, gone])).toMatchObject({ code: "model-not-found", retryable: false });
    expect(await thrown([busy, busy])).toMatchObject({ code: "model-overloaded" });
  });

  it("MODEL-12 asks nobody else when it was aborted", async () => {
    const second = saying("b/two", "Two");
    const stop = new AbortController();
    const first = scriptedModel([
      () => {
        stop.abort(new Error("stopped"));
        return { error: new CapstanError("model-network", "broke off", { retryable: true }) };
      },
    ]);
    const asked = collectEvents(fallback([first, second]), { ...HELLO, signal: stop.signal });
    await expect(asked).rejects.toThrow("stopped");
    expect(second.requests).toEqual([]);
  });

  it("has the capabilities of the first, but structured output only when all do", () => {
    const rich = { contextTokens: 10, images: true, files: ["application/pdf"], structured: true, cacheMarkers: true };
    const first = saying("a/one", "", rich);
    expect(fallback([first, saying("b/two", "", { structured: true })]).capabilities).toEqual(rich);
    expect(fallback([first, saying("b/two", "")]).capabilities).toEqual({ ...rich, structured: false });
    expect(fallback([saying("b/two", ""), first]).capabilities).toEqual({ structured: false, cacheMarkers: true });
  });

  it("COST-06 has the dearest price of all, so that a budget holds whoever answers, and none when one has none", async () => {
    const priced = (price: Price): Model => ({ ...saying("a/one", ""), price: () => price });
    const cheap = priced({ input: 1, output: 9, cacheRead: 0.5 });
    const stepped = priced({ input: 2, output: 4, cacheWrite: 3, long: { overTokens: 100, input: 5, output: 6 } });
    expect(await fallback([cheap]).price?.()).toEqual({ input: 1, output: 9, cacheRead: 0.5, cacheWrite: 1 });
    expect(await fallback([cheap, stepped]).price?.()).toEqual({
      input: 2,
      output: 9,
      cacheRead: 2,
      cacheWrite: 3,
      long: { overTokens: 100, input: 5, output: 9, cacheRead: 5, cacheWrite: 5 },
    });
    expect(await fallback([cheap, saying("b/two", "")]).price?.()).toBeUndefined();
  });

  it("gives marks for the cache to models that take them only", async () => {
    const plain = failing("a/one", "model-overloaded", true);
    const marked = saying("b/two", "Two", { cacheMarkers: true });
    await collectEvents(fallback([plain, marked]), { ...HELLO, cache: [-1, 0] });
    expect([plain.requests[0]?.cache, marked.requests[0]?.cache]).toEqual([[], [-1, 0]]);
  });

  it("refuses to be of no models", () => {
    expect(() => fallback([])).toThrowError(expect.objectContaining({ code: "config-invalid" }));
  });

  it("MODEL-13 MODEL-20 in a run: people see the notice, the turn records the model that answered", async () => {
    const model = fallback([failing("a/one", "model-rate-limited", true), saying("b/two", "Two")]);
    const helper = agent({ name: "helper", model, instructions: "Help." });
    await using runtime = await testRuntime({ agents: [helper] });
    const session = await runtime.session({ agent: helper });
    const seen: Event[] = [];
    const reading = (async () => {
      for await (const { event } of session.events()) {
        seen.push(event);
        if (event.type === "run.finished") return;
      }
    })();
    const run = await session.send("Hello");
    await reading;
    expect(await run.text()).toBe("Two");
    expect(seen.filter(({ type }) => type === "notice")).toMatchObject([
      { code: "model-fallback", title: "a/one could not answer; b/two is asked instead" },
    ]);
    expect(seen.find(({ type }) => type === "turn.finished")).toMatchObject({ model: "b/two", turn: 1 });
    expect(seen.filter(({ type }) => type === "turn.started")).toHaveLength(1);
  });
});

describe("the model contract of fallback", () => {
  const cases = modelContract({
    model: (replies) => ({
      model: fallback([
        ofEvents("down/one", [], new CapstanError("model-overloaded", "down")),
        scriptedModel(
          replies.map(({ fault, reasoning, text, calls, reason }) => ({
            ...(reasoning !== undefined && { reasoning }),
            ...(text !== undefined && { text }),
            ...(calls !== undefined && { calls }),
            reason,
            ...(fault === "cut" && { cutAfter: 1 }),
            ...(fault === "hang" && { hold: new Promise(() => undefined) }),
          })),
        ),
      ]),
    }),
    reasons: ["stop", "tool-calls", "length"],
    reasoning: true,
    seals: false,
  });
  for (const { name, run } of cases) it(`MODEL-13 ${name}`, run);
});
