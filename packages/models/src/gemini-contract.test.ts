import { modelContract } from "@capstan/core/testing";
import { describe, it } from "vitest";
import { geminiFrom } from "./gemini.ts";
import { type GeminiReply, type GeminiReplyPart, geminiServer } from "./testing/index.ts";

const WORDS = {
  stop: "STOP",
  "tool-calls": "STOP",
  length: "MAX_TOKENS",
  "content-filter": "SAFETY",
  refusal: "PROHIBITED_CONTENT",
  paused: "CONTINUATION",
  other: "OTHER",
} as const;
type Reason = keyof typeof WORDS;
/** Behind the first delta of the text, or before the call. */
const FIRST_PIECE_BYTES = 230;

describe("gemini", () => {
  const cases = modelContract({
    reasons: ["stop", "tool-calls", "length", "content-filter", "refusal", "paused", "other"],
    reasoning: true,
    seals: true,
    async model(replies) {
      const server = await geminiServer(
        replies.map(({ reasoning, text, calls = [], reason, fault }): GeminiReply => {
          const thought: GeminiReplyPart[] =
            reasoning === undefined ? [] : [{ text: reasoning, thought: true, thoughtSignature: "sig-of-thought" }];
          const said: GeminiReplyPart[] =
            text === undefined ? [] : [{ text, deltas: [text.slice(0, 5), text.slice(5, 20), text.slice(20)] }];
          const made = calls.map(({ name, input }, index): GeminiReplyPart => ({
            functionCall: { id: `id${index}`, name, args: input },
            ...(index === 0 && { thoughtSignature: `sig-of-${name}` }),
          }));
          const at = text === undefined ? 60 : FIRST_PIECE_BYTES;
          return {
            parts: [...thought, ...said, ...made],
            finishReason: WORDS[reason as Reason], // the fixture names no other
            ...(fault === "cut" && { delivery: { cutAfterBytes: at } }),
            ...(fault === "hang" && { delivery: { stall: { afterBytes: at, until: new Promise(() => {}) } } }),
          };
        }),
      );
      const model = geminiFrom({}, "gemini-3.8-flash", { apiKey: "test-key-0", baseUrl: server.url });
      return {
        model,
        sent: () => server.requests.map(({ path, body }) => [path.split(/[/:]/), body]),
        close: () => server.close(),
      };
    },
  });
  for (const { name, run } of cases) it(`MODEL-02 LOOP-19 ${name}`, run);
});
