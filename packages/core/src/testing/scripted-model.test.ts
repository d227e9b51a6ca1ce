import assert from "node:assert/strict";
import { describe, it } from "vitest";
import { CapstanError } from "../words/errors.ts";
import type { Message } from "../words/message.ts";
import type { ModelEvent, ModelRequest } from "../ports/model.ts";
import { modelContract, type ContractReply } from "./model-contract.ts";
import { scriptedModel, type ScriptedTurn } from "./scripted-model.ts";

function request(messages: readonly Message[] = [], signal: AbortSignal = new AbortController().signal): ModelRequest {
  const blob = (): Promise<Uint8Array> => Promise.reject(new Error("no blobs"));
  return { system: "12345678", tools: [], messages, settings: {}, cache: [], sessionId: "ses_1", signal, blob };
}
const said = (text: string): Message => ({ id: "m", role: "assistant", parts: [{ type: "text", text }] });
const asked: Message = { id: "q", role: "user", parts: [{ type: "text", text: "?" }] };

async function all(stream: AsyncIterable<readonly ModelEvent[]>): Promise<readonly (readonly ModelEvent[])[]> {
  return Array.fromAsync(stream);
}
async function textOf(stream: AsyncIterable<readonly ModelEvent[]>): Promise<string> {
  const events = (await all(stream)).flat();
  return events
    .map((event) => (event.type === "block-end" && event.part.type === "text" ? event.part.text : ""))
    .join("");
}

/** The contract's replies as turns of the script. */
function played({ fault, reason, ...turn }: ContractReply): ScriptedTurn {
  return {
    ...turn,
    reason,
    ...(turn.reasoning !== undefined && { seal: { signature: "sealed" } }),
    ...(fault === "cut" && { cutAfter: 1 }),
    ...(fault === "hang" && { hold: new Promise(() => {}) }),
  };
}

describe("modelContract on scriptedModel", () => {
  const cases = modelContract({
    model: (replies) => ({ model: scriptedModel(replies.map(played)) }),
    reasons: ["stop", "tool-calls", "length", "content-filter", "refusal", "paused", "context-exceeded", "other"],
    reasoning: true,
    seals: true,
  });
  for (const { name, run } of cases) it(name, run);
});

describe("modelContract on wrong models", () => {
  const fails = async (name: RegExp, events: readonly (readonly ModelEvent[])[]): Promise<void> => {
    const wrong = {
      id: "wrong/model",
      capabilities: {},
      async *stream() {
        yield* events;
      },
    };
    const cases = modelContract({ model: () => ({ model: wrong }), reasons: ["stop"], reasoning: false, seals: false });
    const [found] = cases.filter((item) => name.test(item.name));
    assert.ok(found);
    await assert.rejects(found.run());
  };
  const usage = { inputTokens: 1, outputTokens: 1 };
  const finish: ModelEvent = { type: "finish", reason: "stop", usage };
  const start: ModelEvent = { type: "block-start", index: 0, block: { type: "text" } };
  const delta: ModelEvent = { type: "block-delta", index: 0, delta: "a" };

  it("TEST-05 finds a part that is not what its deltas were", () =>
    fails(/reason stop/, [[start, delta, { type: "block-end", index: 0, part: { type: "text", text: "b" } }, finish]]));
  it("finds events after finish", () => fails(/reason stop/, [[finish, start]]));
  it("finds a block without an end", () => fails(/reason stop/, [[start, delta, finish]]));
  it("finds a delta before its block", () => fails(/reason stop/, [[delta, finish]]));
  it("TEST-05 finds a missing finish", () =>
    fails(/reason stop/, [[start, delta, { type: "block-end", index: 0, part: { type: "text", text: "a" } }]]));
  it("TEST-05 finds a finish after a cut", () => fails(/breaks off has no finish/, [[finish]]));
  it("finds a swallowed abort", () => fails(/aborted already/, [[start]]));
});

describe("scriptedModel", () => {
  it("TEST-01 takes the turn by the replies in the history, so the same history gives the same reply", async () => {
    const model = scriptedModel([{ text: "one" }, { text: "two" }]);
    const second = request([asked, said("one"), asked]);
    assert.equal(await textOf(model.stream(second)), "two");
    assert.equal(await textOf(model.stream(request([asked]))), "one");
    assert.equal(await textOf(model.stream(second)), "two");
    assert.equal(await textOf(model.stream(request([asked, said("one"), asked, said("two"), asked]))), "Done.");
  });

  it("TEST-01 records what it was asked", async () => {
    const model = scriptedModel([]);
    const messages = [asked];
    await all(model.stream(request(messages)));
    messages.push(said("later"));
    assert.deepEqual(
      model.requests.map((item) => item.messages),
      [[asked]],
    );
    assert.equal(model.requests[0]?.messages[0], asked);
  });

  it("emits each delta in a batch of its own", async () => {
    const model = scriptedModel([{ text: "abcd", calls: [{ name: "now", input: {} }], deltas: 2 }]);
    assert.deepEqual(await all(model.stream(request([asked]))), [
      [{ type: "start", model: "scripted/model" }],
      [
        { type: "block-start", index: 0, block: { type: "text" } },
        { type: "block-delta", index: 0, delta: "ab" },
      ],
      [{ type: "block-delta", index: 0, delta: "cd" }],
      [{ type: "block-end", index: 0, part: { type: "text", text: "abcd" } }],
      [
        { type: "block-start", index: 1, block: { type: "tool-input", name: "now" } },
        { type: "block-delta", index: 1, delta: "{" },
      ],
      [{ type: "block-delta", index: 1, delta: "}" }],
      [
        {
          type: "block-end",
          index: 1,
          part: { type: "tool-call", callId: "call_0", name: "now", input: {}, by: "capstan" },
        },
      ],
      [{ type: "finish", reason: "tool-calls", usage: { inputTokens: 18, outputTokens: 2 } }],
    ]);
  });

  it("takes functions, which see the request and the attempt", async () => {
    const model = scriptedModel([
      (_, attempt) => (attempt === 1 ? { error: new CapstanError("model-overloaded", "busy") } : { text: "ok" }),
    ]);
    await assert.rejects(all(model.stream(request([asked]))), (error: unknown) =>
      CapstanError.is(error, "model-overloaded"),
    );
    assert.equal(await textOf(model.stream(request([asked]))), "ok");
  });

  it("breaks off after the given number of deltas", async () => {
    for (const cutAfter of [0, 1, 3, 9]) {
      const events = (await all(scriptedModel([{ text: "abcd", deltas: 4, cutAfter }]).stream(request()))).flat();
      assert.equal(events.filter(({ type }) => type === "block-delta").length, Math.min(cutAfter, 4));
      assert.ok(!events.some(({ type }) => type === "finish"));
    }
  });

  it("waits in the middle and goes on, or throws the reason of its signal", async () => {
    const gate = Promise.withResolvers<void>();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const batch of scriptedModel([{ text: "ab", hold: gate.promise }]).stream(request()))
        seen.push(...batch.map(({ type }) => type));
    })();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(seen, ["start", "block-start", "block-delta"]);
    gate.resolve();
    await reading;
    assert.equal(seen.at(-1), "finish");

    const controller = new AbortController();
    const held = all(scriptedModel([{ hold: new Promise(() => {}) }]).stream(request([], controller.signal)));
    setImmediate(() => controller.abort("enough"));
    await assert.rejects(held, (error: unknown) => error === "enough");
  });
});
