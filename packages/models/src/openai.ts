/** OpenAI's models: `POST {baseUrl}/responses` (protocols.md section 2.1), answered as server-sent events; nothing is stored there. */

import type { Json, Model, ModelCapabilities } from "@capstan/core";
import { bodyEncoder } from "./openai/body.ts";
import { OPENAI } from "./openai/content.ts";
import { responseDecoder } from "./openai/decode.ts";
import { DEFAULT_MODEL, type Effort, familyOf, openaiFacts } from "./openai/model-table.ts";
import type { Price } from "./price.ts";
import { type ApiKey, type Env, keySource, nonEmpty } from "./provider/credentials.ts";
import { endpointUrl, isAuthorized, requestHeaders } from "./provider/endpoint.ts";
import { type Endpoint, sseStream } from "./provider/http-stream.ts";
import { tellingLeftOut } from "./provider/left-out-files.ts";
import { priceOf } from "./provider/prices.ts";
import { nodeTransport, type Transport } from "./transport.ts";

export type OpenAIOptions = {
  /** Default: `OPENAI_API_KEY`. Not needed when `headers` hold an `authorization`. */
  readonly apiKey?: ApiKey;
  /** A bare host gets `/v1`; an address with a path is taken as it is. Default: `OPENAI_BASE_URL`, else OpenAI's own. */
  readonly baseUrl?: string;
  /** Sent with every request; they win over ours. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Members merged into the body last; those of a request's settings win over these. Objects are merged by member;
   * `include` and `tools` (such as `web_search`) are added to ours.
   */
  readonly extraBody?: Json;
  readonly transport?: Transport;
  /** Thinking counts towards it. Default: the API's own limit. */
  readonly maxOutputTokens?: number;
  /** Merged over what is known about the model. `reasoning` says whether reasoning may be asked of it. */
  readonly capabilities?: ModelCapabilities;
  /** Default: the published price, when it is known. */
  readonly price?: Price;
};

const BASE_URL = "https://api.openai.com/v1";
/** Efforts of a reasoning model that the table does not know. */
const EFFORTS: readonly Effort[] = ["low", "medium", "high"];

/** Without `modelId`: `OPENAI_MODEL`, else `DEFAULT_MODEL`. Throws `model-key-missing` or `config-invalid` at once. */
export function openai(modelId?: string, options: OpenAIOptions = {}): Model {
  return openaiFrom(process.env, modelId, options);
}

/** As `openai`, with the variables of a given environment. */
export function openaiFrom(env: Env, modelId?: string, options: OpenAIOptions = {}): Model {
  const id = modelId ?? nonEmpty(env["OPENAI_MODEL"]) ?? DEFAULT_MODEL;
  const facts = openaiFacts(id);
  const capabilities: ModelCapabilities = {
    ...(facts.contextTokens !== undefined && { contextTokens: facts.contextTokens }),
    images: facts.images,
    files: ["application/pdf", "text/plain"],
    imageInToolResult: facts.images,
    reasoning: facts.efforts.length > 0,
    structured: facts.structured,
    ...options.capabilities,
  };
  const endpoint = endpointOf(env, options);
  const encode = bodyEncoder({
    modelId: id,
    family: familyOf(id),
    maxOutputTokens: options.maxOutputTokens,
    efforts: capabilities.reasoning !== true ? [] : facts.efforts.length > 0 ? facts.efforts : EFFORTS,
    images: capabilities.images !== false,
    pdfs: capabilities.files?.includes("application/pdf") === true,
    imageInToolResult: capabilities.imageInToolResult !== false,
    ...(options.extraBody !== undefined && { extraBody: options.extraBody }),
  });
  const priceNow = async (): Promise<Price | undefined> => options.price ?? priceOf(OPENAI.id, id);
  return tellingLeftOut({
    id: `openai/${id}`,
    capabilities,
    price: priceNow,
    stream(request) {
      let price: Price | undefined;
      const prepare = async (): Promise<readonly string[]> => {
        price ??= await priceNow();
        return encode(request);
      };
      return sseStream(endpoint, prepare, request.signal, (toError) =>
        responseDecoder({ modelId: id, family: familyOf(id), price, toError }),
      );
    },
  });
}

function endpointOf(env: Env, options: OpenAIOptions): Endpoint {
  const baseUrl = options.baseUrl ?? nonEmpty(env["OPENAI_BASE_URL"]) ?? BASE_URL;
  const authorized = isAuthorized(options.headers, "api-key");
  return {
    provider: OPENAI,
    url: endpointUrl(OPENAI.label, baseUrl, "/responses", /^https?:\/\/[^/]+\/*$/i.test(baseUrl.trim()) ? "/v1" : ""),
    key: keySource({
      provider: OPENAI.id,
      label: OPENAI.label,
      apiKey: options.apiKey,
      variables: ["OPENAI_API_KEY"],
      env: authorized ? {} : env,
      optional: authorized,
    }),
    authorize: (key) => ({ authorization: `Bearer ${key}` }),
    headers: requestHeaders(options.headers),
    transport: options.transport ?? nodeTransport,
  };
}
