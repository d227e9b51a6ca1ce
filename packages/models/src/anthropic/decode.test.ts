import type { ModelEvent } from "@capstan/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SseEvent } from "../sse.ts";
import { deltasOf } from "../testing/index.ts";
import { messageDecoder } from "./decode.ts";

function decode(events: readonly SseEvent[]): ModelEvent[] {
  const decoder = messageDecoder({ modelId: "m", price: undefined, toError: (data) => new Error(data) as never });
  return events.flatMap((event) => [...decoder.push([event])]);
}

function sse(data: unknown): SseEvent {
  return { data: typeof data === "string" ? data : JSON.stringify(data) };
}

function started(blockType: string): SseEvent[] {
  const block = { type: "content_block_start", index: 0, content_block: { type: blockType, text: "", thinking: "" } };
  return [sse({ type: "message_start", message: {} }), sse(block)];
}

const END = [sse({ type: "content_block_stop", index: 0 }), sse({ type: "message_stop" })];

describe("messageDecoder", () => {
  it("reads a delta the same by its fast way and by the JSON parser", () => {
    const type = fc.constantFrom(
      ["text", "text_delta", "text"],
      ["thinking", "thinking_delta", "thinking"],
      ["tool_use", "input_json_delta", "partial_json"],
    );
    const padding = fc.constantFrom("", " ", "   ", "\t");
    const text = fc.string({
      unit: fc.oneof(
        fc.string({ unit: "grapheme", maxLength: 3 }),
        fc.constantFrom('"', "\\", "}", "\u0001", "\u007f"),
      ),
    });
    fc.assert(
      fc.property(type, text, padding, padding, ([kind = "", delta, member], value, inner, outer) => {
        const plain = `{"type":"content_block_delta","index":0,"delta":{"type":"${delta}","${member}":${JSON.stringify(value)}${inner}}${outer}}`;
        const slow = ` ${plain}`; // does not begin as the fast way wants it
        const [a, b] = [plain, slow].map((data) => decode([...started(kind), sse(data), ...END]));
        expect(a).toEqual(b);
        expect(deltasOf(a ?? [], 0)).toBe(value);
      }),
    );
  });

  it("refuses in the fast way what the JSON parser refuses", () => {
    const head = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"';
    for (const rest of ['a\u0001b"}}', 'a"}', 'a"}}}', 'a"}} x', 'a"}\u00a0}', "a", 'a\\"}}']) {
      expect(() => decode([...started("text"), sse(head + rest)])).toThrow(
        expect.objectContaining({ code: "model-protocol" }),
      );
    }
    const extra = decode([...started("text"), sse(`${head}a","text":"b"}}`), ...END]);
    expect(deltasOf(extra, 0)).toBe("b");
  });

  it("joins the deltas of one block in a batch, and never across batches or blocks", () => {
    const decoder = messageDecoder({ modelId: "m", price: undefined, toError: (data) => new Error(data) as never });
    const delta = (text: string): SseEvent =>
      sse({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
    decoder.push(started("text"));
    const first = decoder.push([delta("a"), delta("b"), delta("")]);
    const second = decoder.push([delta("c")]);
    expect([first, second]).toEqual([
      [{ type: "block-delta", index: 0, delta: "ab" }],
      [{ type: "block-delta", index: 0, delta: "c" }],
    ]);
  });

  it("COST-04 MODEL-19 takes the last of cumulative counts and keeps what is not repeated", () => {
    const usage = { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 7, output_tokens: 1 };
    const later = { output_tokens: 40, input_tokens: null, output_tokens_details: { thinking_tokens: 12 } };
    const events = decode([
      sse({ type: "message_start", message: { usage } }),
      sse({ type: "message_delta", delta: {}, usage: { output_tokens: 20 } }),
      sse({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: later }),
      sse({ type: "message_stop" }),
    ]);
    expect(events.at(-1)).toMatchObject({
      usage: { inputTokens: 5, outputTokens: 40, cacheReadTokens: 100, cacheWriteTokens: 7, reasoningTokens: 12 },
    });
  });

  it("ignores counts that are none and what follows the end", () => {
    const usage = { input_tokens: -5, output_tokens: "many", cache_read_input_tokens: null };
    const events = decode([
      sse({ type: "message_start", message: { usage } }),
      sse({ type: "message_stop" }),
      sse("garbage"),
    ]);
    expect(events.at(-1)).toEqual({ type: "finish", reason: "other", usage: { inputTokens: 0, outputTokens: 0 } });
  });

  it("uses the event's name when the data has no type, and skips the end mark of other protocols", () => {
    const events = decode([
      { event: "message_start", data: '{"message":{}}' },
      sse("[DONE]"),
      sse("null"),
      sse("7"),
      { event: "message_stop", data: "{}" },
    ]);
    expect(events.map(({ type }) => type)).toEqual(["start", "finish"]);
  });

  it("keeps what the block of a call says beside its input", () => {
    const block = {
      type: "tool_use",
      id: "t1",
      name: "n",
      input: { a: 1 },
      caller: { type: "code_execution", tool_id: "s1" },
    };
    const events = decode([
      sse({ type: "message_start", message: {} }),
      sse({ type: "content_block_start", index: 0, content_block: block }),
      ...END,
    ]);
    const data = { id: "t1", extra: { caller: block.caller } };
    expect(events).toContainEqual({
      type: "block-end",
      index: 0,
      part: {
        type: "tool-call",
        callId: "t1",
        name: "n",
        input: { a: 1 },
        by: "capstan",
        seal: { provider: "anthropic", data },
      },
    });
  });

  it("never fails but with a typed error, whatever comes", () => {
    const json = fc.oneof(
      fc.json(),
      fc
        .record({
          type: fc.constantFrom(
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
          ),
          index: fc.oneof(fc.nat(2), fc.string()),
          message: fc.jsonValue(),
          content_block: fc.oneof(
            fc.record({ type: fc.constantFrom("text", "tool_use", "thinking", "new") }),
            fc.jsonValue(),
          ),
          delta: fc.oneof(
            fc.record({
              type: fc.constantFrom("text_delta", "input_json_delta", "citations_delta", "signature_delta"),
              text: fc.string(),
            }),
            fc.jsonValue(),
          ),
          usage: fc.jsonValue(),
        })
        .map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(fc.array(json, { maxLength: 12 }), (events) => {
        try {
          decode([sse({ type: "message_start", message: {} }), ...events.map(sse)]);
        } catch (error) {
          expect(error).toMatchObject({ code: "model-protocol" });
        }
      }),
      { numRuns: 300 },
    );
  });
});
