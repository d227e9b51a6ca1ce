import { modelContract } from "@capstan/core/testing";
import { describe, it } from "vitest";
import { anthropicFrom } from "./anthropic.ts";
import { type AnthropicReply, anthropicServer, type ReplyBlock, wireBytes, type WireEvent } from "./testing/index.ts";

const WORDS = {
  stop: "end_turn",
  "tool-calls": "tool_use",
  length: "max_tokens",
  refusal: "refusal",
  paused: "pause_turn",
  "context-exceeded": "model_context_window_exceeded",
  other: "something_new",
} as const;
type Reason = keyof typeof WORDS;

describe("anthropic", () => {
  const cases = modelContract({
    reasons: ["stop", "tool-calls", "length", "refusal", "paused", "context-exceeded", "other"],
    reasoning: true,
    seals: true,
    async model(replies) {
      const server = await anthropicServer(
        replies.map(({ reasoning, text, calls = [], reason, fault }): AnthropicReply => {
          const content: readonly ReplyBlock[] = [
            ...(reasoning === undefined ? [] : [{ type: "thinking", thinking: reasoning } as const]),
            ...(text === undefined
              ? []
              : [{ type: "text", text, deltas: [text.slice(0, 5), text.slice(5, 20), text.slice(20)] } as const]),
            ...calls.map(({ name, input }) => ({ type: "tool_use", name, input }) as const),
          ];
          const stopReason = WORDS[reason as Reason]; // the fixture names no other
          if (fault === undefined) return { content, stopReason };
          const breaks = { afterBytes: 0, until: new Promise<never>(() => {}) };
          const edit = (events: readonly WireEvent[]): readonly WireEvent[] => {
            const first = events.findIndex(({ event }) => event === "content_block_delta");
            breaks.afterBytes = wireBytes(events.slice(0, first + 1)).length;
            return fault === "cut" ? events.slice(0, first + 1) : events;
          };
          return { content, stopReason, edit, ...(fault === "hang" && { delivery: { stall: breaks } }) };
        }),
      );
      const model = anthropicFrom({}, "claude-opus-4-6", { apiKey: "test-key-0", baseUrl: server.url });
      return { model, sent: () => server.requests.map(({ body }) => body), close: () => server.close() };
    },
  });
  for (const { name, run } of cases) it(`MODEL-01 LOOP-19 ${name}`, run);
});
