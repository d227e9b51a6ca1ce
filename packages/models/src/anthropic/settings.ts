/** What `anthropic` and `anthropicTokens` share: one set of options, read once. */

import type { Json, ModelCapabilities } from "@capstan/core";
import type { Price } from "../price.ts";
import { type ApiKey, type Env, keySource, nonEmpty } from "../provider/credentials.ts";
import { endpointUrl, isAuthorized, requestHeaders } from "../provider/endpoint.ts";
import type { Endpoint } from "../provider/http-stream.ts";
import { nodeTransport, type Transport } from "../transport.ts";
import { ANTHROPIC } from "./blocks.ts";
import type { BodyOptions } from "./body.ts";
import { DEFAULT_MODEL, modelFacts } from "./model-table.ts";

export type AnthropicOptions = {
  /** Default: `ANTHROPIC_API_KEY`. Not needed when `headers` hold an `authorization`. */
  readonly apiKey?: ApiKey;
  /** Sent as `authorization: Bearer ...` in place of a key: a JWT of a gateway, an OAuth token. */
  readonly authToken?: ApiKey;
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

export type AnthropicSettings = {
  readonly modelId: string;
  readonly capabilities: ModelCapabilities;
  readonly price: Price | undefined;
  readonly body: BodyOptions;
  readonly endpoint: Endpoint;
};

const BASE_URL = "https://api.anthropic.com";
/** The newest published revision; its difference to `2023-06-01` does not touch what is used here. */
const VERSION = "2026-10-21";
/** Tokens of one answer unless asked otherwise: room for thinking, far from what a runaway answer costs. */
const DEFAULT_OUTPUT_TOKENS = 32_000;

/** `path` stands behind `/v1`. Throws `model-key-missing` or `config-invalid`. */
export function anthropicSettings(
  env: Env,
  modelId: string | undefined,
  options: AnthropicOptions,
  path: string,
): AnthropicSettings {
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
  return {
    modelId: id,
    capabilities,
    price: options.price ?? facts.price,
    body: {
      modelId: id,
      maxOutputTokens: options.maxOutputTokens ?? Math.min(facts.maxOutputTokens, DEFAULT_OUTPUT_TOKENS),
      maxOutputLimit: facts.maxOutputTokens,
      thinking: facts.thinking,
      images: capabilities.images !== false,
      cacheMarkers: capabilities.cacheMarkers !== false,
      ...(options.extraBody !== undefined && { extraBody: options.extraBody }),
    },
    endpoint: endpointOf(env, options, path),
  };
}

function endpointOf(env: Env, options: AnthropicOptions, path: string): Endpoint {
  const { authToken, headers, betas = [] } = options;
  const authorized = isAuthorized(headers, "x-api-key");
  const baseUrl = options.baseUrl ?? nonEmpty(env["ANTHROPIC_BASE_URL"]) ?? BASE_URL;
  return {
    provider: ANTHROPIC,
    url: endpointUrl(ANTHROPIC.label, baseUrl, path, "/v1"),
    key: keySource({
      provider: ANTHROPIC.id,
      label: ANTHROPIC.label,
      apiKey: authToken ?? options.apiKey,
      variables: ["ANTHROPIC_API_KEY"],
      env: authorized ? {} : env,
      optional: authorized,
    }),
    authorize: (key) => (authToken === undefined ? { "x-api-key": key } : { authorization: `Bearer ${key}` }),
    headers: requestHeaders(headers, {
      "anthropic-version": VERSION,
      ...(betas.length > 0 && { "anthropic-beta": betas.join(",") }),
    }),
    transport: options.transport ?? nodeTransport,
  };
}
