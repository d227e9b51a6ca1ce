import { readFileSync } from "node:fs";
import { CapstanError, type Json, type ModelEvent } from "@capstan/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refusedError } from "../provider/errors.ts";
import { type SseEvent, sseReader } from "../sse.ts";
import { chatBytes, type ChatChunk, chatChunk, deltasOf, partsOf } from "../testing/index.ts";
import { chatDecoder, type DecoderOptions } from "./decode.ts";

const provider = { id: "acme", label: "Acme" };
const HEAD = { id: "c1", model: "m", reasoning: "reasoning" } as const;

function decoderOf(reasoningOut: DecoderOptions["dialect"]["reasoningOut"] = "none") {
  const toError = (body: string): CapstanError => refusedError(provider, { headers: {}, body, key: "" });
  const dialect = { reasoningOut, costInUsage: reasoningOut === "reasoning_details" };
  return chatDecoder({ provider, modelId: "m", dialect, price: undefined, toError });
}

/** What a body of these bytes gives, so many at a time; `error` instead of an end that was refused. */
function decoded(bytes: Uint8Array, size: number, out?: DecoderOptions["dialect"]["reasoningOut"]) {
  const decoder = decoderOf(out);
  const reader = sseReader();
  const batches: (readonly ModelEvent[])[] = [];
  try {
    for (let at = 0; at < bytes.length; at += size)
      batches.push(decoder.push(reader.push(bytes.subarray(at, at + size))));
    batches.push(decoder.end());
  } catch (error) {
    if (!CapstanError.is(error)) throw error;
    return { events: batches.flat(), error: error.code };
  }
  return { events: batches.flat(), error: undefined };
}

function decodeChunks(chunks: readonly ChatChunk[], out?: DecoderOptions["dialect"]["reasoningOut"]): ModelEvent[] {
  const { events, error } = decoded(chatBytes(chunks), Infinity, out);
  expect(error).toBeUndefined();
  return events;
}

function fixture(name: string): Buffer {
  return readFileSync(new URL(`__fixtures__/${name}.txt`, import.meta.url));
}

const call = (id: string, name: string, input: Json): object => ({ type: "tool-call", callId: id, name, input });
const reasoning = (text: string): object => ({ type: "reasoning", text });
const said = (text: string): object => ({ type: "text", text });
const openaiUsage = {
  inputTokens: 56,
  outputTokens: 64,
  cacheReadTokens: 64,
  cacheWriteTokens: 0,
  reasoningTokens: 32,
};

const RECORDED: readonly {
  readonly name: string;
  readonly out?: DecoderOptions["dialect"]["reasoningOut"];
  readonly parts: readonly object[];
  readonly finish?: object;
  readonly error?: string;
}[] = [
  {
    name: "openai-parallel-calls",
    parts: [
      said("Ich schaue, ob es regnet ☔\nund wo."),
      call("call_a1", "weather", { city: "Oslo", days: 3 }),
      call("call_b2", "search", { query: 'quote "🔑" and \\' }),
      call("call_c3", "now", {}),
    ],
    finish: { reason: "tool-calls", rawReason: "tool_calls", usage: openaiUsage },
  },
  {
    name: "openai-refusal",
    parts: [said("I'm sorry, I cannot help with that.")],
    finish: { reason: "refusal", rawReason: "stop" },
  },
  { name: "openai-content-filter", parts: [said("Half a")], finish: { reason: "content-filter" } },
  { name: "openai-obfuscation", parts: [said("One two three")], finish: { reason: "length", usage: openaiUsage } },
  { name: "openai-cut", parts: [said("This answer breaks")] },
  {
    name: "openrouter-reasoning",
    out: "reasoning_details",
    parts: [
      {
        ...reasoning("The user wants the weather."),
        seal: {
          provider: "acme",
          data: {
            model: "m",
            details: [
              {
                type: "reasoning.text",
                text: "The user wants the weather.",
                format: "anthropic-claude-v1",
                index: 0,
                signature: "EqQBCkYIsig==",
              },
            ],
          },
        },
      },
      said("Let me look."),
      call("toolu_01A", "weather", { city: "Oslo" }),
    ],
    finish: {
      reason: "tool-calls",
      usage: {
        inputTokens: 44,
        outputTokens: 42,
        cacheReadTokens: 100,
        cacheWriteTokens: 50,
        reasoningTokens: 12,
        costMicroUsd: 1235,
      },
    },
  },
  { name: "openrouter-error", parts: [], error: "model-failed" },
  {
    name: "vllm-reasoning",
    out: "reasoning",
    parts: [
      { ...reasoning("Okay, the user\n"), seal: { provider: "acme", data: { model: "m" } } },
      said("\n\nIt is 7"),
    ],
    finish: { reason: "stop", usage: { inputTokens: 30, outputTokens: 20 } },
  },
  {
    name: "ollama-calls",
    parts: [
      reasoning("Two calls."),
      call("call_x1", "weather", { city: "Oslo" }),
      call("call_x2", "weather", { city: "Rome" }),
    ],
    finish: { reason: "tool-calls", rawReason: "stop" },
  },
  {
    name: "deepseek-reasoning",
    parts: [reasoning("First I think."), said('Then I "answer".')],
    finish: { reason: "stop", usage: { inputTokens: 6, outputTokens: 9, cacheReadTokens: 64, reasoningTokens: 4 } },
  },
];

describe("chatDecoder over recorded bytes", () => {
  for (const { name, out, parts, finish, error } of RECORDED) {
    it(`LOOP-19 LOOP-29 reads ${name} the same at every size of its pieces`, () => {
      const bytes = fixture(name);
      for (const size of [1, 3, 64, 1_000, bytes.length]) {
        const { events, error: code } = decoded(bytes, size, out);
        expect(partsOf(events)).toMatchObject(parts);
        expect(partsOf(events)).toHaveLength(parts.length);
        const last = events.at(-1);
        expect(last?.type === "finish" ? last : undefined).toEqual(
          finish === undefined ? undefined : expect.objectContaining(finish),
        );
        expect(code).toBe(error);
      }
    });
  }

  it("merges the deltas of one piece, and never across pieces or blocks", () => {
    const decoder = decoderOf();
    const text = (content: string): SseEvent => ({ data: JSON.stringify(chatChunk(HEAD, { content })) });
    const first = decoder.push([text("a"), text("b"), text(""), text('"')]);
    const second = decoder.push([text("c"), text("d")]);
    expect(first.slice(2)).toEqual([{ type: "block-delta", index: 0, delta: 'ab"' }]);
    expect(second).toEqual([{ type: "block-delta", index: 0, delta: "cd" }]);
  });
});

describe("chatDecoder", () => {
  it("reads a delta the same by its fast way and by the JSON parser", () => {
    const unit = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 3 }),
      fc.constantFrom('"', "\\", "}", "\u0001", "\u007f", "\uE000", "content", '"content":"'),
    );
    const member = fc.constantFrom("content", "reasoning", "reasoning_content");
    const deltas = fc.array(fc.tuple(member, fc.string({ unit, maxLength: 4 })), { maxLength: 12 });
    const extra = fc.constantFrom({}, { usage: null }, { content: "decoy", choices_: [] }, { logprobs: null });
    fc.assert(
      fc.property(deltas, extra, fc.boolean(), (list, more, spaced) => {
        const texts = list.map(([name, value]) => {
          const json = JSON.stringify({ ...more, ...Object(chatChunk(HEAD, { role: "assistant", [name]: value })) });
          return spaced ? json.replaceAll(/":(?=["[{\d])/g, '": ') : json;
        });
        const end = JSON.stringify(chatChunk(HEAD, {}, "stop"));
        const read = (slow: boolean): ModelEvent[] => {
          const decoder = decoderOf();
          // a member that changes from chunk to chunk leaves nothing to learn
          const all = texts.map((text, at) => (slow ? text.replace("{", `{"at":${at},`) : text));
          return [...all, end, "[DONE]"].flatMap((data) => [...decoder.push([{ data }])]);
        };
        const fast = read(false);
        expect(fast).toEqual(read(true));
        const joined = (type: string): string =>
          list.map(([name, value]) => ((name === "content") === (type === "text") ? value : "")).join("");
        for (const type of ["text", "reasoning"] as const) {
          const parts = partsOf(fast).filter((part) => part.type === type);
          expect(parts.map((part) => ("text" in part ? part.text : "")).join("")).toBe(joined(type));
        }
      }),
      { numRuns: 300 },
    );
  });

  it("refuses in the fast way what the JSON parser refuses, and sees every other change of a chunk", () => {
    const first = JSON.stringify(chatChunk(HEAD, { content: "one" }));
    const second = first.replace("one", "two");
    for (const broken of [
      first.replace("one", "a\u0001b"),
      first.slice(0, -1),
      `${first}x`,
      first.replace("one", 'a"b'),
    ]) {
      const decoder = decoderOf();
      decoder.push([{ data: first }, { data: second }]);
      expect(() => decoder.push([{ data: broken }])).toThrow(expect.objectContaining({ code: "model-protocol" }));
    }
    const decoder = decoderOf();
    decoder.push([{ data: first }, { data: second }]);
    const other = JSON.stringify({ ...Object(chatChunk(HEAD, { content: "three" })), usage: { completion_tokens: 3 } });
    const finish = JSON.stringify(chatChunk(HEAD, { content: "!" }, "length"));
    const events = [other, finish, "[DONE]"].flatMap((data) => [...decoder.push([{ data }])]);
    expect(partsOf(events)).toEqual([said("onetwothree!")]);
    expect(events.at(-1)).toMatchObject({ reason: "length", usage: { outputTokens: 3 } });
  });

  const toolDelta = (...calls: readonly object[]): ChatChunk => chatChunk(HEAD, { tool_calls: calls });
  const fn = (name: string | undefined, text: unknown): object => ({
    function: { ...(name !== undefined && { name }), arguments: text },
  });
  const streams: readonly (readonly [name: string, chunks: readonly ChatChunk[]])[] = [
    [
      "one after the other",
      [
        toolDelta({ index: 0, id: "a", ...fn("x", '{"n"') }),
        toolDelta({ index: 0, ...fn(undefined, ":1}") }),
        toolDelta({ index: 1, id: "b", ...fn("y", "{}") }),
      ],
    ],
    [
      "interleaved",
      [
        toolDelta({ index: 0, id: "a", ...fn("x", "{") }, { index: 1, id: "b", ...fn("y", "{") }),
        toolDelta({ index: 1, ...fn(undefined, "}") }, { index: 0, ...fn(undefined, '"n":1}') }),
      ],
    ],
    [
      "without indexes",
      [
        toolDelta({ id: "a", ...fn("x", '{"n"') }),
        toolDelta(fn(undefined, ":1}")),
        toolDelta({ id: "b", ...fn("y", "{}") }),
      ],
    ],
    [
      "without indexes and ids",
      [toolDelta(fn("x", '{"n"')), toolDelta(fn(undefined, ":1}")), toolDelta(fn("y", "{}"))],
    ],
    [
      "all at index 0",
      [
        toolDelta({ index: 0, id: "a", ...fn("x", '{"n":') }),
        toolDelta({ index: 0, ...fn(undefined, "1}") }),
        toolDelta({ index: 0, id: "b", ...fn("y", "{}") }),
      ],
    ],
    [
      "with another id in every delta",
      [
        toolDelta({ index: 0, id: "a", ...fn("x", '{"n":') }),
        toolDelta({ index: 0, id: "a2", ...fn(undefined, "1}") }),
        toolDelta({ index: 1, id: "b", ...fn("y", "{}") }),
      ],
    ],
    [
      "with names repeated",
      [
        toolDelta({ index: 0, id: "a", ...fn("x", '{"n":') }),
        toolDelta({ index: 0, id: "a", ...fn("x", "1}") }),
        toolDelta({ index: 1, ...fn("y", "") }),
        toolDelta({ index: 1, ...fn("y", "{}") }),
      ],
    ],
    [
      "with the name later",
      [
        toolDelta({ index: 0, id: "a", ...fn("", '{"n"') }),
        toolDelta({ index: 0, ...fn("x", ":1}") }),
        toolDelta({ index: 1, id: "b", ...fn("y", null) }),
      ],
    ],
    ["with parsed arguments", [toolDelta({ id: "a", ...fn("x", { n: 1 }) }, { id: "b", ...fn("y", {}) })]],
  ];
  for (const [name, chunks] of streams) {
    it(`MODEL-04 reads two calls that come ${name}`, () => {
      const events = decodeChunks([...chunks, chatChunk(HEAD, {}, "tool_calls"), "[DONE]"]);
      const calls = partsOf(events).map((part) => (part.type === "tool-call" ? [part.name, part.input] : []));
      expect(calls).toEqual([
        ["x", { n: 1 }],
        ["y", {}],
      ]);
      expect(deltasOf(events, 0)).toBe('{"n":1}');
    });
  }

  it("reads the older function_call, and content in parts", () => {
    const events = decodeChunks([
      chatChunk(HEAD, { content: [{ type: "text", text: "Hi" }] }),
      chatChunk(HEAD, { function_call: { name: "x", arguments: '{"n":' } }),
      chatChunk(HEAD, { function_call: { arguments: "1}" } }),
      chatChunk(HEAD, {}, "function_call"),
    ]);
    expect(partsOf(events)).toMatchObject([said("Hi"), { name: "x", input: { n: 1 } }]);
    expect(events.at(-1)).toMatchObject({ reason: "tool-calls", rawReason: "function_call" });
  });

  it("COST-04 takes the last usage, also where it comes with every chunk or in a member of its own", () => {
    const usage = (completion_tokens: number): object => ({ prompt_tokens: 9, completion_tokens });
    const events = decodeChunks([
      { ...Object(chatChunk(HEAD, { content: "a" })), usage: usage(1) },
      { ...Object(chatChunk(HEAD, { content: "b" })), usage: usage(2) },
      chatChunk(HEAD, {}, "stop"),
      { id: "c1", choices: [], usage: usage(3) },
      "[DONE]",
    ]);
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 9, outputTokens: 3 } });
    const groq = decodeChunks([{ ...Object(chatChunk(HEAD, {}, "stop")), x_groq: { id: "r", usage: usage(5) } }]);
    expect(groq.at(-1)).toMatchObject({ usage: { outputTokens: 5 } });
  });

  it("takes one choice only and ignores what follows the end", () => {
    const other = { id: "c1", choices: [{ index: 1, delta: { content: "no" }, finish_reason: "length" }] };
    const events = decodeChunks([
      { choices: [], prompt_filter_results: [] },
      other,
      chatChunk(HEAD, { content: "yes" }, "stop"),
      "[DONE]",
      "garbage",
    ]);
    expect(partsOf(events)).toEqual([said("yes")]);
    expect(events.filter(({ type }) => type === "start")).toEqual([{ type: "start", model: "m" }]);
  });

  it("never fails but with a typed error, whatever comes", () => {
    const delta = fc.record(
      {
        content: fc.oneof(fc.string(), fc.jsonValue()),
        reasoning: fc.oneof(fc.string(), fc.jsonValue()),
        reasoning_details: fc.oneof(
          fc.array(fc.record({ type: fc.constantFrom("reasoning.text", "x"), text: fc.jsonValue() })),
          fc.jsonValue(),
        ),
        tool_calls: fc.oneof(
          fc.array(
            fc.record({ index: fc.oneof(fc.nat(2), fc.jsonValue()), id: fc.jsonValue(), function: fc.jsonValue() }),
          ),
          fc.jsonValue(),
        ),
      },
      { requiredKeys: [] },
    );
    const chunk = fc.oneof(
      fc.json(),
      fc.constant("[DONE]"),
      fc
        .record({
          id: fc.jsonValue(),
          choices: fc.oneof(
            fc.array(
              fc.record({ index: fc.constant(0), delta, finish_reason: fc.oneof(fc.constant("stop"), fc.jsonValue()) }),
              { maxLength: 2 },
            ),
            fc.jsonValue(),
          ),
          usage: fc.jsonValue(),
        })
        .map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 12 }), fc.constantFrom("none", "reasoning_details"), (chunks, out) => {
        const { error } = decoded(chatBytes(chunks), Infinity, out);
        if (error !== undefined) expect(error).toMatch(/^model-/);
      }),
      { numRuns: 300 },
    );
  });
});
