/** OpenAI's models: `POST {baseUrl}/responses` (protocols.md section 2.1), answered as server-sent events; nothing is stored there. */

import type { Model, ModelCapabilities } from "@capstan/core";
import { bodyEncoder } from "./openai/body.ts";
import { OPENAI } from "./openai/content.ts";
import { responseDecoder } from "./openai/decode.ts";
import { DEFAULT_MODEL, familyOf, modelFacts } from "./openai/model-table.ts";
import { type Env, nonEmpty } from "./provider/credentials.ts";
import { BEARER, type Endpoint, endpointOf, endpointUrl } from "./provider/endpoint.ts";
import { fileOptions } from "./provider/files.ts";
import { httpModel } from "./provider/http-model.ts";
import type { ProviderOptions } from "./provider/options.ts";

export type OpenAIOptions = ProviderOptions & {
  /** A bare host gets `/v1`; an address with a path is taken as it is. */
  readonly baseUrl?: string;
};

const BASE_URL = "https://api.openai.com/v1";
/** Efforts of a reasoning model that the table does not know. */
const EFFORTS = ["low", "medium", "high"] as const;
const BARE_HOST = /^https?:\/\/[^/]+\/*$/i;

/** Without `modelId`: `OPENAI_MODEL`, else `DEFAULT_MODEL`. Throws `model-key-missing` or `config-invalid` at once. */
export function openai(modelId?: string, options: OpenAIOptions = {}): Model {
  return openaiFrom(process.env, modelId, options);
}

/** As `openai`, with the variables of a given environment. */
export function openaiFrom(env: Env, modelId?: string, options: OpenAIOptions = {}): Model {
  const id = modelId ?? nonEmpty(env["OPENAI_MODEL"]) ?? DEFAULT_MODEL;
  const facts = modelFacts(id);
  const capabilities: ModelCapabilities = {
    ...(facts.contextTokens !== undefined && { contextTokens: facts.contextTokens }),
    images: facts.images,
    files: ["application/pdf", "text/plain"],
    imageInToolResult: facts.images,
    reasoning: facts.efforts.length > 0,
    structured: facts.structured,
    ...options.capabilities,
  };
  const family = familyOf(id);
  const efforts = facts.efforts.length > 0 ? facts.efforts : EFFORTS;
  return httpModel({
    endpoint: openaiEndpoint(env, options),
    modelId: id,
    capabilities,
    price: options.price,
    encode: bodyEncoder({
      modelId: id,
      family,
      maxOutputTokens: options.maxOutputTokens,
      efforts: capabilities.reasoning === true ? efforts : [],
      ...fileOptions(capabilities),
      extraBody: options.extraBody,
    }),
    decoder: (answer) => responseDecoder({ ...answer, family }),
  });
}

function openaiEndpoint(env: Env, options: OpenAIOptions): Endpoint {
  const baseUrl = options.baseUrl ?? nonEmpty(env["OPENAI_BASE_URL"]) ?? BASE_URL;
  return endpointOf(options, {
    provider: OPENAI,
    url: endpointUrl(OPENAI, baseUrl, "/responses", BARE_HOST.test(baseUrl.trim()) ? "/v1" : ""),
    env,
    keyVariables: ["OPENAI_API_KEY"],
    keyHeader: BEARER,
  });
}
