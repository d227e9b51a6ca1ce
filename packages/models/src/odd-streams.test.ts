import { CapstanError, type Json, type Model, type ModelEvent } from "@capstan/core";
import { describe, expect, it } from "vitest";
import { anthropicFrom } from "./anthropic.ts";
import { geminiFrom } from "./gemini.ts";
import { openaiChatFrom } from "./openai-chat.ts";
import { openaiFrom } from "./openai.ts";
import { modelRequest, partsOf } from "./testing/index.ts";
import type { Transport } from "./transport.ts";

const KEY = "test-key-0123456789";
const MODELS: Readonly<Record<string, (transport: Transport) => Model>> = {
  anthropic: (transport) => anthropicFrom({}, "claude-opus-4-6", { apiKey: KEY, transport }),
  openai: (transport) => openaiFrom({}, "gpt-6.1-sol", { apiKey: KEY, transport }),
  "openai-chat": (transport) => openaiChatFrom({}, "m", { apiKey: KEY, baseUrl: "http://127.0.0.1/v1", transport }),
  gemini: (transport) => geminiFrom({}, "gemini-3.8-flash", { apiKey: KEY, transport }),
};

type Answer = { readonly said: readonly Json[]; readonly reason: string | undefined; readonly error: unknown };

/** What the model makes of these events, in the shortest form: texts, and calls as name and input. */
async function answerTo(provider: string, events: readonly object[]): Promise<Answer> {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    yield Promise.resolve(Buffer.from(body));
  };
  const model = MODELS[provider]?.(() =>
    Promise.resolve({ status: 200, headers: { "content-type": "text/event-stream" }, chunks: chunks() }),
  );
  const seen: ModelEvent[] = [];
  let error: unknown;
  try {
    const request = modelRequest([{ id: "m", role: "user", parts: [{ type: "text", text: "Hi" }] }]);
    for await (const batch of model?.stream(request) ?? []) seen.push(...batch);
  } catch (thrown) {
    error = thrown;
  }
  const said = partsOf(seen).flatMap((part): Json[] => {
    if (part.type === "text") return [part.text];
    return part.type === "tool-call" ? [[part.name, part.input]] : [part.type];
  });
  const end = seen.at(-1);
  return { said, reason: end?.type === "finish" ? end.reason : undefined, error };
}

const chat = (delta: object | null, finish: string | null = null, more: object = {}): object => ({
  id: "c",
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
const called = (...calls: readonly object[]): object => ({ tool_calls: calls });
const CLAUDE = { type: "message_start", message: { id: "m", model: "claude", usage: { input_tokens: 3 } } };
const ends = (reason: string | null): readonly object[] => [
  { type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 2 } },
  { type: "message_stop" },
];
const block = (index: number, start: object, ...deltas: readonly object[]): readonly object[] => [
  { type: "content_block_start", index, content_block: start },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index },
];
const message = (text: string): object => ({
  type: "message",
  id: "i",
  role: "assistant",
  content: text === "" ? [] : [{ type: "output_text", text }],
});
const completed = (more: object = {}): object => ({
  type: "response.completed",
  response: { id: "r", status: "completed", ...more },
});
const USE = { type: "tool_use", id: "a", name: "w", input: { x: 1 } };

type Row = readonly [provider: string, what: string, events: readonly object[], said: readonly Json[], reason: string];
const ROWS: readonly Row[] = [
  [
    "anthropic",
    "a call whose answer ends as if it had none",
    [CLAUDE, ...block(0, USE), ...ends("end_turn")],
    [["w", { x: 1 }]],
    "tool-calls",
  ],
  [
    "anthropic",
    "a ping before everything and empty deltas",
    [
      { type: "ping" },
      CLAUDE,
      ...block(0, { type: "text", text: "" }, { type: "text_delta", text: "" }, { type: "text_delta", text: "Hi" }),
      { type: "ping" },
      ...ends("end_turn"),
    ],
    ["Hi"],
    "stop",
  ],
  [
    "anthropic",
    "a block and a delta of no known kind",
    [
      CLAUDE,
      ...block(0, { type: "hologram" }, { type: "holo_delta", y: 2 }),
      ...block(1, { type: "text", text: "Hi" }, { type: "holo_delta" }),
      ...ends("end_turn"),
    ],
    ["opaque", "Hi"],
    "stop",
  ],
  ["anthropic", "no content at all", [CLAUDE, ...ends("end_turn")], [], "stop"],
  [
    "anthropic",
    "a reason nobody knows, and none",
    [CLAUDE, ...block(0, { type: "text", text: "Hi" }), ...ends(null)],
    ["Hi"],
    "other",
  ],
  [
    "openai",
    "all of it in the last event",
    [
      { type: "response.created", response: { id: "r" } },
      completed({
        output: [message("Hi"), { type: "function_call", id: "f", call_id: "c", name: "w", arguments: '{"x":1}' }],
      }),
    ],
    ["Hi", ["w", { x: 1 }]],
    "tool-calls",
  ],
  [
    "openai",
    "the last event repeats what was streamed",
    [
      { type: "response.output_item.done", output_index: 0, item: message("Hi") },
      completed({ output: [message("Hi")] }),
    ],
    ["Hi"],
    "stop",
  ],
  [
    "openai",
    "a text that is only told when it is done",
    [
      { type: "response.output_item.added", output_index: 0, item: message("") },
      { type: "response.output_text.done", output_index: 0, content_index: 0, text: "Hi" },
      { type: "response.output_item.done", output_index: 0, item: message("") },
      completed(),
    ],
    ["Hi"],
    "stop",
  ],
  [
    "openai",
    "an item of no known kind",
    [
      { type: "response.output_item.done", output_index: 0, item: { type: "hologram" } },
      { type: "response.output_item.done", output_index: 1, item: message("Hi") },
      completed(),
    ],
    ["opaque", "Hi"],
    "stop",
  ],
  [
    "openai-chat",
    "filters first, nulls everywhere, usage last",
    [
      { id: "", choices: [], prompt_filter_results: [{}] },
      chat({ role: "assistant", content: null, refusal: null, tool_calls: null, function_call: null }),
      chat({ content: "Hi" }),
      chat(null, "stop"),
      { choices: [], usage: { prompt_tokens: 1 } },
    ],
    ["Hi"],
    "stop",
  ],
  [
    "openai-chat",
    "the whole message as one event",
    [
      {
        choices: [
          {
            index: 0,
            message: {
              role: "assistant",
              content: "Hi",
              tool_calls: [{ id: "a", function: { name: "w", arguments: '{"x":1}' } }],
            },
            finish_reason: "tool_calls",
          },
        ],
      },
    ],
    ["Hi", ["w", { x: 1 }]],
    "tool-calls",
  ],
  [
    "openai-chat",
    "calls in pieces that mix",
    [
      chat(called({ index: 0, id: "a", function: { name: "w", arguments: "" } })),
      chat(called({ index: 1, id: "b", function: { name: "v", arguments: "" } })),
      chat(called({ index: 0, function: { arguments: '{"x":' } }, { index: 1, function: { arguments: '{"y":' } })),
      chat(called({ index: 1, function: { arguments: "2}" } }, { index: 0, function: { arguments: "1}" } })),
      chat({}, "tool_calls"),
    ],
    [
      ["w", { x: 1 }],
      ["v", { y: 2 }],
    ],
    "tool-calls",
  ],
  [
    "openai-chat",
    "calls without ids and places",
    [
      chat(
        called({ function: { name: "w", arguments: '{"x":1}' } }, { function: { name: "w", arguments: '{"y":2}' } }),
      ),
      chat({}, "tool_calls"),
    ],
    [
      ["w", { x: 1 }],
      ["w", { y: 2 }],
    ],
    "tool-calls",
  ],
  [
    "openai-chat",
    "no arguments, said in three ways",
    [
      chat(
        called(
          { index: 0, id: "a", function: { name: "w", arguments: "null" } },
          { index: 1, id: "b", function: { name: "w", arguments: null } },
          { index: 2, id: "c", function: { name: "w", arguments: "" } },
        ),
      ),
      chat({}, "stop"),
    ],
    [
      ["w", {}],
      ["w", {}],
      ["w", {}],
    ],
    "tool-calls",
  ],
  [
    "openai-chat",
    "a call that ends in a word of the model",
    [chat(called({ index: 0, id: "a", function: { name: "w", arguments: "{}" } })), chat({}, "eos_token")],
    [["w", {}]],
    "tool-calls",
  ],
  ["openai-chat", "an end without a text", [chat({}, "stop")], [], "stop"],
  [
    "gemini",
    "calls without ids, one without arguments",
    [
      {
        candidates: [
          {
            content: { parts: [{ functionCall: { name: "w", args: { x: 1 } } }, { functionCall: { name: "w" } }] },
            finishReason: "STOP",
          },
        ],
      },
    ],
    [
      ["w", { x: 1 }],
      ["w", {}],
    ],
    "tool-calls",
  ],
  [
    "gemini",
    "usage in a last chunk of its own",
    [
      { candidates: [{ content: { parts: [{ text: "Hi" }] } }] },
      { candidates: [{ finishReason: "STOP" }] },
      { usageMetadata: { promptTokenCount: 3 } },
    ],
    ["Hi"],
    "stop",
  ],
  [
    "gemini",
    "a limit reached before any content",
    [{ candidates: [{ finishReason: "MAX_TOKENS", index: 0 }] }],
    [],
    "length",
  ],
];

describe("an odd but legal stream", () => {
  for (const [provider, what, events, said, reason] of ROWS) {
    it(`G25 LOOP-19 of ${provider} is read for what it says: ${what}`, async () => {
      expect(await answerTo(provider, events)).toEqual({ said, reason, error: undefined });
    });
  }
});

const OPENAI_ERROR = { message: "Incorrect API key provided", type: "invalid_request_error", code: "invalid_api_key" };
const ERRORS: readonly (readonly [provider: string, what: string, event: object, code: string, more?: object])[] = [
  [
    "anthropic",
    "overloaded",
    { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    "model-overloaded",
  ],
  [
    "openai",
    "an error with its type",
    { type: "error", code: "insufficient_quota", message: "You exceeded your current quota" },
    "model-billing",
  ],
  [
    "openai",
    "an error below its type, with a wait",
    { type: "error", error: { code: "rate_limit_exceeded", message: "Please try again in 1.2s" } },
    "model-rate-limited",
    { retryAfterMs: 1_200 },
  ],
  ["openai", "an error without a type", { error: OPENAI_ERROR }, "model-auth"],
  [
    "openai",
    "a response that failed",
    {
      type: "response.failed",
      response: { status: "failed", error: { code: "context_length_exceeded", message: "No" } },
    },
    "model-context-exceeded",
  ],
  ["openai-chat", "an error with a number", { error: { message: "Busy", code: 503 } }, "model-overloaded"],
  ["openai-chat", "an error that is a text", { error: "something broke" }, "model-failed"],
  [
    "openai-chat",
    "an error beside a choice",
    { choices: [{ index: 0, delta: {}, finish_reason: "error", error: { code: 429, message: "limited" } }] },
    "model-rate-limited",
  ],
  [
    "gemini",
    "a quota, with a wait",
    { error: { code: 429, message: "No", status: "RESOURCE_EXHAUSTED", details: [{ retryDelay: "3s" }] } },
    "model-rate-limited",
    { retryAfterMs: 3_000 },
  ],
];

describe("an error inside an answer that began with 200", () => {
  for (const [provider, what, event, code, more = {}] of ERRORS) {
    it(`LOOP-29 G25 of ${provider} is ${code}: ${what}`, async () => {
      const { error, reason } = await answerTo(provider, [event]);
      expect([CapstanError.is(error), reason]).toEqual([true, undefined]);
      expect(error).toMatchObject({ code, ...more });
    });
  }
});
