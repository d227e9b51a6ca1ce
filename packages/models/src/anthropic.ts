/** Claude models: `POST {baseUrl}/v1/messages` (protocols.md section 1), answered as server-sent events. */

import type { Json, Model, ModelCapabilities } from "@capstan/core";
import { bodyEncoder } from "./anthropic/body.ts";
import { messageDecoder } from "./anthropic/decode.ts";
import { DEFAULT_MODEL, modelFacts } from "./anthropic/model-table.ts";
import { ANTHROPIC } from "./anthropic/blocks.ts";
import type { Price } from "./price.ts";
import { type ApiKey, type Env, keySource, nonEmpty } from "./provider/credentials.ts";
import { endpointUrl, isAuthorized, requestHeaders } from "./provider/endpoint.ts";
import { type Endpoint, sseStream } from "./provider/http-stream.ts";
import { nodeTransport, type Transport } from "./transport.ts";

export type AnthropicOptions = {
  /** Default: `ANTHROPIC_API_KEY`. Not needed when `headers` hold an `authorization`. */
  readonly apiKey?: ApiKey;
  /** With or without a final `/v1`. Default: `ANTHROPIC_BASE_URL`, else Anthropic's own. */
  readonly baseUrl?: string;
  /** Sent with every request; they win over ours. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Names for the `anthropic-beta` header. */
  readonly betas?: readonly string[];
  /** Members merged into the body last; those of a request's settings win over these. */
  readonly extraBody?: Json;
  readonly transport?: Transport;
  /** Default: what the model can do, at most `DEFAULT_OUTPUT_TOKENS`. */
  readonly maxOutputTokens?: number;
  /** Merged over what is known about the model. `cacheMarkers: false` for an endpoint that refuses `cache_control`. */
  readonly capabilities?: ModelCapabilities;
  /** Default: the published price, when it is known. */
  readonly price?: Price;
};

const BASE_URL = "https://api.anthropic.com";
/** The newest published revision; its difference to `2023-06-01` does not touch what is used here. */
const VERSION = "2026-10-21";
/** Tokens of one answer unless asked otherwise: room for thinking, far from what a runaway answer costs. */
const DEFAULT_OUTPUT_TOKENS = 32_000;
/** Without `modelId`: `ANTHROPIC_MODEL`, else `DEFAULT_MODEL`. Throws `model-key-missing` or `config-invalid` at once. */
export function anthropic(modelId?: string, options: AnthropicOptions = {}): Model {
  return anthropicFrom(process.env, modelId, options);
}

/** As `anthropic`, with the variables of a given environment. */
export function anthropicFrom(env: Env, modelId?: string, options: AnthropicOptions = {}): Model {
  const id = modelId ?? nonEmpty(env["ANTHROPIC_MODEL"]) ?? DEFAULT_MODEL;
  const facts = modelFacts(id);
  const capabilities: ModelCapabilities = {
    contextTokens: facts.contextTokens,
    images: true,
    files: ["application/pdf", "text/plain"],
    imageInToolResult: true,
    reasoning: true,
    structured: facts.structured,
    cacheMarkers: true,
    ...options.capabilities,
  };
  const maxOutputTokens = options.maxOutputTokens ?? Math.min(facts.maxOutputTokens, DEFAULT_OUTPUT_TOKENS);
  const endpoint: Endpoint = {
    provider: ANTHROPIC,
    url: endpointUrl(
      "Anthropic",
      options.baseUrl ?? nonEmpty(env["ANTHROPIC_BASE_URL"]) ?? BASE_URL,
      "/messages",
      "/v1",
    ),
    key: keySource({
      provider: ANTHROPIC.id,
      label: ANTHROPIC.label,
      apiKey: options.apiKey,
      variables: ["ANTHROPIC_API_KEY"],
      env: isAuthorized(options.headers, "x-api-key") ? {} : env,
      optional: isAuthorized(options.headers, "x-api-key"),
    }),
    authorize: (key) => ({ "x-api-key": key }),
    headers: requestHeaders(options.headers, {
      "anthropic-version": VERSION,
      ...(options.betas !== undefined && options.betas.length > 0 && { "anthropic-beta": options.betas.join(",") }),
    }),
    transport: options.transport ?? nodeTransport,
  };
  const price = options.price ?? facts.price;
  const encode = bodyEncoder({
    modelId: id,
    maxOutputTokens,
    maxOutputLimit: facts.maxOutputTokens,
    thinking: facts.thinking,
    images: capabilities.images !== false,
    cacheMarkers: capabilities.cacheMarkers !== false,
    ...(options.extraBody !== undefined && { extraBody: options.extraBody }),
  });
  return {
    id: `anthropic/${id}`,
    capabilities,
    stream: (request) =>
      sseStream(
        endpoint,
        () => encode(request),
        request.signal,
        (toError) => messageDecoder({ modelId: id, price, toError }),
      ),
  };
}
