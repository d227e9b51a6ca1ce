/** One long text in the words of each wire format, and how a loop by hand reads it. Made from the documented formats. */

import { WORDS } from "./model-replies.ts";

/** `anthropic` is what every other measure speaks; `ai-sdk` is a model of the AI SDK that speaks `openai-chat`. */
export type WireFormatName = "anthropic" | "openai" | "openai-chat" | "openrouter" | "gemini" | "ai-sdk";
export type OtherFormat = Exclude<WireFormatName, "anthropic" | "ai-sdk">;

type TextFormat = {
  /** Path below the script that the answer is asked for. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A body with a question and nothing else. */
  readonly body: object;
  /** The whole answer. */
  readonly reply: (deltas: number) => string;
  /** The text of one event; undefined when it brings none. */
  readonly textOf: (event: never) => string | undefined;
};

const CHAT_HEAD = { object: "chat.completion.chunk", created: 1_795_000_000 };
const SEEN = { promptTokenCount: 20, promptTokensDetails: [{ modality: "TEXT", tokenCount: 20 }] };
type ChatEvent = { readonly choices: readonly { readonly delta: { readonly content?: string } }[] };

export const TEXT_FORMATS: Readonly<Record<OtherFormat, TextFormat>> = {
  openai: {
    path: "/v1/responses",
    headers: { authorization: "Bearer key" },
    body: { model: "gpt-bench", stream: true, store: false, input: "Go" },
    reply: responsesReply,
    textOf: (event: { readonly type: string; readonly delta: string }) =>
      event.type === "response.output_text.delta" ? event.delta : undefined,
  },
  "openai-chat": {
    path: "/v1/chat/completions",
    headers: { authorization: "Bearer key" },
    body: { model: "bench", stream: true, messages: [{ role: "user", content: "Go" }] },
    reply(deltas) {
      const head = { id: "chatcmpl-bench", ...CHAT_HEAD, model: "bench", system_fingerprint: "fp_1" };
      const chunk = (delta: object, reason: string | null): string =>
        data({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }], usage: null });
      const usage = { prompt_tokens: 20, completion_tokens: deltas, total_tokens: 20 + deltas };
      return [
        chunk({ role: "assistant", content: "", refusal: null }, null),
        ...words(deltas).map((content) => chunk({ content }, null)),
        chunk({}, "stop"),
        data({ ...head, choices: [], usage }),
        "data: [DONE]\n\n",
      ].join("");
    },
    textOf: (event: ChatEvent) => event.choices[0]?.delta.content,
  },
  openrouter: {
    path: "/v1/chat/completions",
    headers: { authorization: "Bearer key" },
    body: { model: "bench", stream: true, messages: [{ role: "user", content: "Go" }] },
    reply(deltas) {
      const head = { id: "gen-bench", provider: "Anthropic", model: "anthropic/claude-bench", ...CHAT_HEAD };
      const chunk = (content: string, reason: string | null, more: object = {}): string => {
        const choice = { index: 0, delta: { role: "assistant", content }, finish_reason: reason };
        return data({ ...head, choices: [{ ...choice, native_finish_reason: reason, logprobs: null }], ...more });
      };
      const usage = { prompt_tokens: 20, completion_tokens: deltas, total_tokens: 20 + deltas, cost: 0.001 };
      return [
        ": OPENROUTER PROCESSING\n\n",
        ...words(deltas).map((content) => chunk(content, null)),
        chunk("", "stop"),
        chunk("", null, { usage }),
        "data: [DONE]\n\n",
      ].join("");
    },
    textOf: (event: ChatEvent) => event.choices[0]?.delta.content,
  },
  gemini: {
    path: "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
    headers: { "x-goog-api-key": "key" },
    body: { contents: [{ role: "user", parts: [{ text: "Go" }] }] },
    reply(deltas) {
      const last = { modelVersion: "gemini-bench", responseId: "q0EhafCbL7Wn" };
      const chunk = (text: string, at: number, more: object = {}): string => {
        const candidates = [{ content: { parts: [{ text }], role: "model" }, ...more, index: 0 }];
        const usageMetadata = { ...SEEN, candidatesTokenCount: at, totalTokenCount: 20 + at };
        return data({ candidates, usageMetadata, ...last }).replace(/\n\n$/, "\r\n\r\n");
      };
      return (
        words(deltas)
          .map((text, at) => chunk(text, at))
          .join("") + chunk("", deltas, { finishReason: "STOP" })
      );
    },
    textOf: (event: { readonly candidates: readonly { readonly content: { readonly parts: readonly Text[] } }[] }) =>
      event.candidates[0]?.content.parts[0]?.text,
  },
};
type Text = { readonly text?: string };

function responsesReply(deltas: number): string {
  const item = { id: "msg_bench", type: "message", role: "assistant" };
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const text = words(deltas).join("");
  const part = { type: "output_text", annotations: [], logprobs: [], text };
  const done = { ...item, status: "completed", content: [part] };
  const usage = { input_tokens: 20, output_tokens: deltas, total_tokens: 20 + deltas };
  const response = { id: "resp_bench", object: "response", model: "gpt-bench", error: null, incomplete_details: null };
  const open = { response: { ...response, status: "in_progress", output: [], usage: null } };
  const events: readonly { readonly type: string; readonly [name: string]: unknown }[] = [
    { type: "response.created", ...open },
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...place, part: { ...part, text: "" } },
    ...words(deltas).map((delta, at) => {
      // the padding that the API adds differs in length
      const obfuscation = "Zk19xWvBq0EhafCb".slice(at % 16);
      return { type: "response.output_text.delta", ...place, delta, logprobs: [], obfuscation };
    }),
    { type: "response.output_text.done", ...place, text },
    { type: "response.content_part.done", ...place, part },
    { type: "response.output_item.done", output_index: 0, item: done },
    { type: "response.completed", response: { ...response, status: "completed", output: [done], usage } },
  ];
  const numbered = events.map(({ type, ...event }, at) => ({ type, sequence_number: at, ...event }));
  return numbered.map((event) => `event: ${event.type}\n${data(event)}`).join("");
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function words(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => WORDS[at % WORDS.length] ?? "");
}
