import type { ModelEvent } from "@capstan/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SseEvent } from "../sse.ts";
import { deltasOf } from "../testing/index.ts";
import { responseDecoder } from "./decode.ts";

function decoderOf() {
  return responseDecoder({ modelId: "m", family: "m", price: undefined, toError: (data) => new Error(data) as never });
}

function decode(events: readonly SseEvent[]): ModelEvent[] {
  const decoder = decoderOf();
  return events.flatMap((event) => [...decoder.push([event])]);
}

function sse(data: unknown): SseEvent {
  return { data: typeof data === "string" ? data : JSON.stringify(data) };
}

const STARTED = [
  sse({ type: "response.created", response: { id: "resp_1", model: "m" } }),
  sse({ type: "response.output_item.added", output_index: 0, item: { type: "message", content: [] } }),
];
const END = [
  sse({ type: "response.output_item.done", output_index: 0, item: { type: "message", content: [] } }),
  sse({ type: "response.completed", response: { status: "completed" } }),
];
/** A text delta in the two orders of members that the API has used. */
const FORMS = [
  (text: string, pad: string) =>
    `{"type":"response.output_text.delta","content_index":0,"delta":${text},"item_id":"msg_1","logprobs":[],${pad === "" ? "" : `"obfuscation":"${pad}",`}"output_index":0,"sequence_number":4}`,
  (text: string, pad: string) =>
    `{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":${text},"logprobs":[]${pad === "" ? "" : `,"obfuscation":"${pad}"`}}`,
];

describe("responseDecoder", () => {
  it("reads a delta the same by its fast way and by the JSON parser", () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.string({ unit: "grapheme", maxLength: 3 }),
        fc.constantFrom('"', "\\", "}", "\u0001", "\u007f", '","delta":"'),
      ),
    });
    fc.assert(
      fc.property(fc.constantFrom(...FORMS), text, fc.constantFrom("", "aB3xYz"), (form, value, pad) => {
        const plain = form(JSON.stringify(value), pad);
        const [a, b] = [plain, ` ${plain}`].map((delta) => decode([...STARTED, sse(delta), ...END]));
        expect(a).toEqual(b);
        expect(deltasOf(a ?? [], 0)).toBe(value);
      }),
    );
  });

  it("refuses in the fast way what the JSON parser refuses", () => {
    for (const form of FORMS) {
      for (const text of ['"a\u0001b"', '"a', '"a"x', '"a\\"']) {
        expect(() => decode([...STARTED, sse(form(text, ""))])).toThrow(
          expect.objectContaining({ code: "model-protocol" }),
        );
      }
    }
  });

  it("joins the deltas of one block in a batch, and never across batches or blocks", () => {
    const decoder = decoderOf();
    decoder.push(STARTED);
    const [form] = FORMS;
    const delta = (text: string): SseEvent => sse(form?.(JSON.stringify(text), "") ?? "");
    expect([decoder.push([delta("a"), delta("b"), delta("")]), decoder.push([delta("c")])]).toEqual([
      [
        { type: "block-start", index: 0, block: { type: "text" } },
        { type: "block-delta", index: 0, delta: "ab" },
      ],
      [{ type: "block-delta", index: 0, delta: "c" }],
    ]);
  });

  it("COST-04 counts only what is a count, and no token twice", () => {
    const usageOf = (usage: unknown) =>
      decode([sse({ type: "response.completed", response: { status: "completed", usage } })]).at(-1);
    const none = { inputTokens: 0, outputTokens: 0 };
    for (const usage of [null, 7, {}, { input_tokens: -5, output_tokens: "many", input_tokens_details: null }])
      expect(usageOf(usage)).toMatchObject({ usage: none });
    expect(usageOf({ input_tokens: 50, input_tokens_details: { cached_tokens: 80 } })).toMatchObject({
      usage: { inputTokens: 0, cacheReadTokens: 80 },
    });
  });

  it("keeps a text with two contents as two texts", () => {
    const delta = (content_index: number, text: string) =>
      sse({ type: "response.output_text.delta", output_index: 0, content_index, delta: text });
    const content = [
      { type: "output_text", text: "ab" },
      { type: "output_text", text: "cd" },
    ];
    const done = sse({ type: "response.output_item.done", output_index: 0, item: { type: "message", content } });
    const events = decode([...STARTED, delta(0, "a"), delta(1, "c"), delta(0, "b"), done, ...END.slice(1)]);
    expect(events.flatMap((event) => (event.type === "block-end" ? [event.part] : []))).toEqual([
      { type: "text", text: "ab" },
      { type: "text", text: "cd" },
    ]);
    expect(events.at(-1)).toMatchObject({ reason: "stop" });
  });

  it("never fails but with a typed error, whatever comes", () => {
    const type = fc.constantFrom(
      "response.created",
      "response.output_item.added",
      "response.output_item.done",
      "response.output_text.delta",
      "response.refusal.delta",
      "response.function_call_arguments.delta",
      "response.reasoning_summary_text.delta",
      "response.reasoning_text.delta",
      "response.completed",
      "response.incomplete",
    );
    const item = fc.record({
      type: fc.constantFrom("message", "reasoning", "function_call", "web_search_call", "toString"),
      content: fc.oneof(fc.jsonValue(), fc.array(fc.record({ type: fc.constant("refusal"), refusal: fc.string() }))),
      summary: fc.jsonValue(),
      arguments: fc.jsonValue(),
      call_id: fc.jsonValue(),
    });
    const event = fc
      .record({
        type,
        output_index: fc.oneof(fc.nat(2), fc.string()),
        content_index: fc.oneof(fc.nat(2), fc.string()),
        item: fc.oneof(item, fc.jsonValue()),
        delta: fc.oneof(fc.string(), fc.jsonValue()),
        response: fc.oneof(fc.record({ status: fc.constantFrom("completed", "incomplete") }), fc.jsonValue()),
      })
      .map((value) => JSON.stringify(value));
    fc.assert(
      fc.property(fc.array(fc.oneof(event, fc.json()), { maxLength: 12 }), (events) => {
        const decoder = decoderOf();
        const read: ModelEvent[] = [];
        try {
          for (const data of events) read.push(...decoder.push([sse(data)]));
        } catch (error) {
          if (!(error instanceof Error && /"failed"|"cancelled"/.test(error.message)))
            expect(error).toMatchObject({ code: "model-protocol" });
          return;
        }
        const starts = read.flatMap((one) => (one.type === "block-start" ? [one.index] : []));
        const ends = read.flatMap((one) => (one.type === "block-end" ? [one.index] : []));
        if (read.at(-1)?.type === "finish") expect(starts.every((index) => ends.includes(index))).toBe(true);
        expect(read.findIndex((one) => one.type === "finish")).toBe(decoder.finished ? read.length - 1 : -1);
      }),
      { numRuns: 400 },
    );
  });
});
