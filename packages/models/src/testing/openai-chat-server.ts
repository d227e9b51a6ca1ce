/** A scripted chat completions server on the loopback: refuses what the API refuses, and breaks when told to. */

import { type ChatRules, checkOpenAIChatRequest } from "./check-openai-chat-request.ts";
import {
  answerChunks,
  type ChatAnswer,
  chatBytes,
  type ChatChunk,
  issuedDetails,
  type ReasoningMember,
} from "./openai-chat-replies.ts";
import { type CacheBlock, type CacheUse, promptCache } from "./prompt-cache.ts";
import {
  type Delivery,
  type PlainReply,
  type RecordedRequest,
  type Script,
  type ScriptedProvider,
  type ScriptedServer,
  scriptedServer,
} from "./scripted-server.ts";

type ChatStream = ChatAnswer & {
  /** Changes the chunks of the answer before they are sent. */
  readonly edit?: (chunks: readonly ChatChunk[]) => readonly ChatChunk[];
};
export type OpenAIChatReply = (ChatStream & { readonly delivery?: Delivery }) | PlainReply;

/** `cache`: how its input was charged by the simulated prompt cache; undefined when it was refused. */
export type OpenAIChatRequest = RecordedRequest & { readonly cache?: CacheUse };
export type OpenAIChatScript = Script<OpenAIChatReply, OpenAIChatRequest>;
export type OpenAIChatServer = ScriptedServer<OpenAIChatRequest>;

export type OpenAIChatServerOptions = Omit<ChatRules, "isIssued"> & {
  /** Where reasoning is streamed, and where it is taken back. Default: streamed as `reasoning`, refused back. */
  readonly reasoning?: ReasoningMember;
  /** US dollars, said in every usage. */
  readonly cost?: number;
};

/** Listens on a free port of 127.0.0.1; the base URL of the API is its `url` and `/v1`. The caller closes it. */
export function openaiChatServer(
  script: OpenAIChatScript,
  options: OpenAIChatServerOptions = {},
): Promise<OpenAIChatServer> {
  return scriptedServer(openaiChatApi(script, options));
}

/** The API itself, to be served or to stand behind a transport. */
export function openaiChatApi(
  script: OpenAIChatScript,
  options: OpenAIChatServerOptions = {},
): ScriptedProvider<ChatStream, OpenAIChatRequest> {
  const cache = promptCache();
  const issued = new Set<string>();
  const { reasoning = "reasoning", cost } = options;
  const rules: ChatRules = {
    ...options,
    ...(options.reasoning !== undefined && { reasoningBack: options.reasoning }),
    isIssued: (value) => issued.has(JSON.stringify(value)),
  };
  return {
    script,
    check: ({ path, headers, body }) => [
      ...checkOpenAIChatRequest(headers, body, rules),
      ...(path === "/v1/chat/completions" ? [] : [`${path}: no such path`]),
    ],
    record: (request) => ({ ...request, cache: cache.use(chatCacheBlocks(request.body)) }),
    stream(reply, request, index) {
      const { reasoning: thought } = reply;
      if (thought !== undefined) {
        issued.add(JSON.stringify(reasoning === "reasoning_details" ? issuedDetails(thought) : thought));
      }
      const head = { id: `chatcmpl-${index}`, model: String(request.body["model"]), reasoning };
      const wanted = Object(request.body["stream_options"])["include_usage"] === true || cost !== undefined;
      const chunks = answerChunks(head, reply, wanted ? usageOf(request.cache, reply, cost) : undefined);
      return chatBytes(reply.edit?.(chunks) ?? chunks);
    },
    error: (status, message) => chatErrorBody(message, TYPES[status] ?? "server_error"),
  };
}

/** The body of an error as OpenAI sends it. */
export function chatErrorBody(message: string, type: string, code: string | null = null): object {
  return { error: { message, type, param: null, code } };
}

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "invalid_request_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};

function usageOf(use: CacheUse | undefined, answer: ChatAnswer, cost: number | undefined): object {
  const { input = 0, read = 0, written = 0 } = use ?? {};
  const prompt = input + read + written;
  const said = [answer.reasoning, answer.text, answer.refusal, answer.calls];
  const completion = Math.ceil(JSON.stringify(said).length / 4);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: Math.ceil((answer.reasoning ?? "").length / 4) },
    ...(cost !== undefined && { cost, is_byok: false }),
  };
}

/** The blocks of a request in the order of the cache: tools, then messages. Four characters count as one token. */
export function chatCacheBlocks(body: { readonly [name: string]: unknown }): readonly CacheBlock[] {
  const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
  const messages = list(body["messages"]).flatMap((message) => {
    const { content, ...rest } = Object(message) as { readonly content?: unknown };
    const parts = Array.isArray(content) ? content : [{ content }];
    return parts.map((part) => ({ head: JSON.stringify(rest), part: part as unknown }));
  });
  const tools = list(body["tools"]).map((part) => ({ head: "tool", part }));
  return [...tools, ...messages].map(({ head, part }) => {
    const { cache_control: marker, ...rest } = Object(part) as { readonly cache_control?: unknown };
    const text = head + JSON.stringify(rest);
    return { text, tokens: Math.ceil(text.length / 4), breakpoint: marker !== undefined };
  });
}
