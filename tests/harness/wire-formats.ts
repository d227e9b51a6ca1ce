/** The six wire formats as one: a neutral answer, played by each provider's strict double in that provider's own words. */

import type { Json, Model, ModelCapabilities, Price } from "@capstan/core";
import type { Transport, TransportResponse } from "@capstan/models";
import { aiSdk } from "@capstan/models/ai-sdk";
import { anthropicFrom } from "@capstan/models/anthropic";
import { geminiFrom } from "@capstan/models/gemini";
import { openaiFrom } from "@capstan/models/openai";
import { chatPresetFrom, openaiChatFrom } from "@capstan/models/openai-chat";
import {
  anthropicApi,
  geminiApi,
  openaiApi,
  openaiChatApi,
  type RecordedRequest,
  type ScriptedProvider,
  scriptedServer,
  scriptedTransport,
} from "@capstan/models/testing";
import { strictAiModel } from "./strict-ai-model.ts";

/** What a model says in one turn, whoever it is. */
export type Said = {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly input: Json }[];
};
/** The answer to the request with this number, from 0, of the one provider. */
export type SaidScript = (index: number) => Said;

export type PlayOptions = {
  /** Default: what is known of the model. */
  readonly capabilities?: ModelCapabilities;
  /** Bytes of one chunk. Default: the whole answer. */
  readonly chunkBytes?: number;
  /** What the network makes of an answer; formats with a wire of their own only. */
  readonly wire?: (response: TransportResponse) => TransportResponse;
};
export interface Played extends AsyncDisposable {
  readonly model: Model;
  /** What the provider would have refused. */
  readonly violations: readonly string[];
  /** What the provider received, oldest first. */
  readonly sent: () => readonly unknown[];
}
export type WireFormat = {
  readonly name: string;
  /** Whether it gives state with its reasoning that must go back. */
  readonly sealed: boolean;
  /** In this process, without a socket. */
  readonly play: (script: SaidScript, options?: PlayOptions) => Played;
  /** Over HTTP on the loopback, where the format has one. */
  readonly serve: (script: SaidScript, options?: PlayOptions) => Promise<Played>;
};

type Connection = {
  readonly apiKey: string;
  readonly price: Price;
  readonly baseUrl: string;
  readonly capabilities?: ModelCapabilities;
  readonly transport?: Transport;
};

const KNOWN = { apiKey: "test-key-0123456789", price: { input: 1, output: 5 } } as const;

export const WIRE_FORMATS: readonly WireFormat[] = [
  overHttp("Anthropic", "", anthropic, (connection) => anthropicFrom({}, "claude-opus-4-6", connection)),
  overHttp("OpenAI Responses", "", responses, (connection) => openaiFrom({}, "gpt-6.1-sol", connection)),
  overHttp(
    "OpenAI Chat",
    "/v1",
    (script, delivery) => chat(script, delivery, {}),
    (connection) => openaiChatFrom({}, "acme/large", withStructured(connection)),
  ),
  overHttp(
    "OpenRouter",
    "/v1",
    (script, delivery) =>
      chat(script, delivery, {
        reasoning: "reasoning_details",
        cost: 0.001,
        cacheControl: true,
        toolMarkers: true,
        members: ["reasoning", "provider", "usage"],
      }),
    (connection) => chatPresetFrom("openrouter", {}, "anthropic/claude-x", withStructured(connection)),
  ),
  overHttp("Gemini", "", gemini, (connection) => geminiFrom({}, "gemini-3.8-flash", connection)),
  {
    name: "AI SDK",
    sealed: true,
    play: playAiSdk,
    serve: async (script, options) => Promise.resolve(playAiSdk(script, options)),
  },
];

function playAiSdk(script: SaidScript, { capabilities }: PlayOptions = {}): Played {
  const source = strictAiModel(script);
  const model = aiSdk(source, { price: KNOWN.price, ...(capabilities !== undefined && { capabilities }) });
  return { model, violations: source.violations, sent: () => source.prompts, [Symbol.asyncDispose]: async () => {} };
}

type Delivery = { readonly delivery?: { readonly chunkBytes: number } };

function overHttp<Stream extends object, Request extends RecordedRequest>(
  name: string,
  version: string,
  api: (script: SaidScript, delivery: Delivery) => ScriptedProvider<Stream, Request>,
  modelOf: (connection: Connection) => Model,
): WireFormat {
  const made = (script: SaidScript, { chunkBytes }: PlayOptions): ScriptedProvider<Stream, Request> =>
    api(script, chunkBytes === undefined ? {} : { delivery: { chunkBytes } });
  const known = ({ capabilities }: PlayOptions): Pick<Connection, "capabilities"> =>
    capabilities === undefined ? {} : { capabilities };
  return {
    name,
    sealed: name !== "OpenAI Chat",
    play(script, options = {}) {
      const { transport: whole, url, violations, requests } = scriptedTransport(made(script, options));
      const { wire } = options;
      const transport: Transport = wire === undefined ? whole : async (request) => wire(await whole(request));
      const model = modelOf({ ...KNOWN, baseUrl: `${url}${version}`, transport, ...known(options) });
      const sent = (): readonly unknown[] => requests.map(({ body }) => body);
      return { model, violations, sent, [Symbol.asyncDispose]: async () => {} };
    },
    async serve(script, options = {}) {
      const server = await scriptedServer(made(script, options));
      const model = modelOf({ ...KNOWN, baseUrl: `${server.url}${version}`, ...known(options) });
      const sent = (): readonly unknown[] => server.requests.map(({ body }) => body);
      return { model, violations: server.violations, sent, [Symbol.asyncDispose]: () => server.close() };
    },
  };
}

/** An endpoint of one's own: nobody but its owner knows what it can. */
function withStructured(connection: Connection): Connection {
  return { ...connection, capabilities: { images: true, structured: true, ...connection.capabilities } };
}

function anthropic(script: SaidScript, delivery: Delivery): ReturnType<typeof anthropicApi> {
  return anthropicApi((_request, index) => {
    const { reasoning, text, calls = [] } = script(index);
    return {
      content: [
        ...(reasoning === undefined ? [] : [{ type: "thinking", thinking: reasoning } as const]),
        ...(text === undefined ? [] : [{ type: "text", text, deltas: halves(text) } as const]),
        ...calls.map(({ name, input }) => ({ type: "tool_use", name, input }) as const),
      ],
      ...delivery,
    };
  });
}

function responses(script: SaidScript, delivery: Delivery): ReturnType<typeof openaiApi> {
  return openaiApi((_request, index) => {
    const { reasoning, text, calls = [] } = script(index);
    const phase = calls.length > 0 ? "commentary" : "final_answer";
    return {
      items: [
        ...(reasoning === undefined ? [] : [{ type: "reasoning", summary: [reasoning] } as const]),
        ...(text === undefined ? [] : [{ type: "text", text, deltas: halves(text), phase } as const]),
        ...calls.map(({ name, input }) => ({ type: "call", name, input }) as const),
      ],
      ...delivery,
    };
  });
}

function chat(
  script: SaidScript,
  delivery: Delivery,
  options: Parameters<typeof openaiChatApi>[1],
): ReturnType<typeof openaiChatApi> {
  return openaiChatApi((_request, index) => ({ ...script(index), ...delivery }), options);
}

/** Signatures as Gemini gives them: on the first call of an answer, on the text of one without calls. */
function gemini(script: SaidScript, delivery: Delivery): ReturnType<typeof geminiApi> {
  return geminiApi((_request, index) => {
    const { reasoning, text, calls = [] } = script(index);
    const signed = { thoughtSignature: `sig-${index}` };
    return {
      parts: [
        ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true } as const]),
        ...(text === undefined ? [] : [{ text, deltas: halves(text), ...(calls.length === 0 && signed) }]),
        ...calls.map(({ name, input }, at) => ({
          functionCall: { id: `g${index}x${at}`, name, args: input },
          ...(at === 0 && signed),
        })),
      ],
      ...delivery,
    };
  });
}

function halves(text: string): readonly string[] {
  const half = Math.ceil(text.length / 2);
  return [text.slice(0, half), text.slice(half)].filter((piece) => piece !== "");
}
