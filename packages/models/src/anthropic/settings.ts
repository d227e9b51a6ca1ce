/** What `anthropic` and `anthropicTokens` share: one set of options, read once. */

import type { ModelCapabilities, Price } from "@capstan/core";
import { type ApiKey, type Env, nonEmpty } from "../provider/credentials.ts";
import { BEARER, type Endpoint, endpointOf, endpointUrl } from "../provider/endpoint.ts";
import type { ProviderOptions } from "../provider/options.ts";
import { ANTHROPIC } from "./blocks.ts";
import type { BodyOptions } from "./body.ts";
import { DEFAULT_MODEL, modelFacts } from "./model-table.ts";

export type AnthropicOptions = ProviderOptions & {
  /** Sent as `authorization: Bearer ...` in place of a key: a JWT of a gateway, an OAuth token. */
  readonly authToken?: ApiKey;
  /** With or without a final `/v1`. */
  readonly baseUrl?: string;
  /** Names for the `anthropic-beta` header. */
  readonly betas?: readonly string[];
  /** Default: what the model can do, at most `DEFAULT_OUTPUT_TOKENS`. */
  readonly maxOutputTokens?: number;
  /** `cacheMarkers: false` for an endpoint that refuses `cache_control`. */
  readonly capabilities?: ModelCapabilities;
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
      extraBody: options.extraBody,
    },
    endpoint: anthropicEndpoint(env, options, path),
  };
}

function anthropicEndpoint(env: Env, options: AnthropicOptions, path: string): Endpoint {
  const { authToken, betas = [] } = options;
  const apiKey = authToken ?? options.apiKey;
  const baseUrl = options.baseUrl ?? nonEmpty(env["ANTHROPIC_BASE_URL"]) ?? BASE_URL;
  return endpointOf(apiKey === undefined ? options : { ...options, apiKey }, {
    provider: ANTHROPIC,
    url: endpointUrl(ANTHROPIC, baseUrl, path, "/v1"),
    env,
    keyVariables: ["ANTHROPIC_API_KEY"],
    keyHeader: authToken === undefined ? { name: "x-api-key" } : BEARER,
    headers: { "anthropic-version": VERSION, ...(betas.length > 0 && { "anthropic-beta": betas.join(",") }) },
  });
}
