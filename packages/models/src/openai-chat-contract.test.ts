import { type ContractReply, modelContract } from "@capstan/core/testing";
import type { Model, TurnReason } from "@capstan/core";
import { describe, it } from "vitest";
import { chatPresetFrom, openaiChatFrom } from "./openai-chat.ts";
import {
  type ChatChunk,
  type OpenAIChatReply,
  openaiChatServer,
  type OpenAIChatServerOptions,
} from "./testing/index.ts";

const WORDS: Readonly<Partial<Record<TurnReason, string>>> = {
  stop: "stop",
  "tool-calls": "tool_calls",
  length: "length",
  "content-filter": "content_filter",
  refusal: "stop",
  error: "error",
  other: "something_new",
};
const REASONS = Object.keys(WORDS) as TurnReason[];

function toReply({ reasoning, text, calls, reason, fault }: ContractReply): OpenAIChatReply {
  const answer: OpenAIChatReply = {
    ...(reasoning !== undefined && { reasoning }),
    ...(reason === "refusal" ? { refusal: text ?? "" } : text !== undefined && { text }),
    ...(calls !== undefined && { calls }),
    finishReason: WORDS[reason] ?? "stop",
  };
  // A little more than the opening chunk and one piece.
  if (fault === "cut") return { ...answer, delivery: { cutAfterBytes: 500 } };
  const stall = { afterBytes: 500, until: new Promise<never>(() => {}) };
  return fault === "hang" ? { ...answer, delivery: { stall } } : answer;
}

/** The contract over the strict server, as one kind of server speaks. */
function contract(
  name: string,
  modelOf: (baseUrl: string) => Model,
  options: OpenAIChatServerOptions,
  edit?: (chunks: readonly ChatChunk[]) => readonly ChatChunk[],
): void {
  const seals = options.reasoning !== undefined;
  const cases = modelContract({
    reasons: REASONS,
    reasoning: true,
    seals,
    async model(replies) {
      const played = replies.map((reply) => ({ ...toReply(reply), ...(edit !== undefined && { edit }) }));
      const server = await openaiChatServer(played, options);
      const sent = (): readonly unknown[] => server.requests.map(({ body }) => body);
      const close = async (): Promise<void> => {
        await server.close();
        if (server.violations.length > 0) throw new Error(server.violations.join("; "));
      };
      return { model: modelOf(`${server.url}/v1`), sent, close };
    },
  });
  describe(name, () => {
    for (const { name: sentence, run } of cases) it(sentence, run);
  });
}

/** As servers send calls that count neither their deltas nor their calls. */
function withoutIndexes(chunks: readonly ChatChunk[]): readonly ChatChunk[] {
  const text = JSON.stringify(chunks)
    .replaceAll('{"index":0,"id"', '{"id"')
    .replaceAll(/\{"index":\d,"f/g, '{"f');
  return JSON.parse(text.replaceAll(/\{"index":[12],"id"/g, '{"id"')) as ChatChunk[]; // still chunks
}

contract(
  "MODEL-04 LOOP-19 the contract at an endpoint of one's own",
  (baseUrl) => openaiChatFrom({}, "acme/large", { baseUrl }),
  { auth: "none" },
);
contract(
  "the contract at OpenAI",
  (baseUrl) =>
    openaiChatFrom({ OPENAI_API_KEY: "k".repeat(9) }, "gpt-6-astra", {
      apiKey: "k".repeat(9),
      baseUrl,
      dialect: { systemRole: "developer", maxTokens: "max_completion_tokens" },
    }),
  { systemRole: "developer" },
);
contract(
  "MODEL-05 MODEL-16 the contract at OpenRouter",
  (baseUrl) => chatPresetFrom("openrouter", { OPENROUTER_API_KEY: "or-key-1" }, "anthropic/claude-x", { baseUrl }),
  { reasoning: "reasoning_details", cost: 0.001, cacheControl: true, toolMarkers: true },
);
contract(
  "MODEL-05 MODEL-16 the contract at Cerebras",
  (baseUrl) => chatPresetFrom("cerebras", { CEREBRAS_API_KEY: "csk-key-1" }, "gpt-oss-120b", { baseUrl }),
  { reasoning: "reasoning" },
);
contract(
  "MODEL-16 the contract at DeepSeek",
  (baseUrl) => chatPresetFrom("deepseek", { DEEPSEEK_API_KEY: "ds-key-1" }, "deepseek-chat", { baseUrl }),
  { reasoning: "reasoning_content" },
);
contract(
  "the contract at a server that leaves indexes out",
  (baseUrl) => chatPresetFrom("ollama", {}, "qwen3", { baseUrl }),
  { auth: "none", reasoning: "reasoning" },
  withoutIndexes,
);
