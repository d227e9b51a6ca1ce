/** Gemini models: `POST {baseUrl}/v1beta/models/{model}:streamGenerateContent` (protocols.md section 3), answered as server-sent events. */

import type { Json, Model, ModelCapabilities } from "@capstan/core";
import { bodyEncoder } from "./gemini/body.ts";
import { chunkReader } from "./gemini/chunk-reader.ts";
import { responseDecoder } from "./gemini/decode.ts";
import { DEFAULT_MODEL, modelFacts } from "./gemini/model-table.ts";
import { IMAGES } from "./gemini/parts.ts";
import { GEMINI } from "./gemini/signature.ts";
import type { Price } from "./price.ts";
import { type ApiKey, type Env, keySource, nonEmpty } from "./provider/credentials.ts";
import { endpointUrl, isAuthorized, requestHeaders } from "./provider/endpoint.ts";
import { type Endpoint, providerStream } from "./provider/http-stream.ts";
import { tellingLeftOut } from "./provider/left-out-files.ts";
import { priceOf } from "./provider/prices.ts";
import { nodeTransport, type Transport } from "./transport.ts";

export type GeminiOptions = {
  /** Default: `GEMINI_API_KEY` or `GOOGLE_API_KEY`. Not needed when `headers` hold an `authorization`. */
  readonly apiKey?: ApiKey;
  /** With or without a version such as `/v1beta` at its end. Default: `GEMINI_BASE_URL`, else Google's own. */
  readonly baseUrl?: string;
  /** Used when the base URL names no version. Default `v1beta`. */
  readonly apiVersion?: string;
  /** Sent with every request; they win over ours. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Members merged into the body last; those of a request's settings win over these. Members of `generationConfig` and
   * `toolConfig` are merged one by one, and `tools` stand behind the functions.
   */
  readonly extraBody?: Json;
  readonly transport?: Transport;
  /** Default: the provider's own limit. */
  readonly maxOutputTokens?: number;
  /** Merged over what is known about the model. */
  readonly capabilities?: ModelCapabilities;
  /** Default: the published price, when it is known. */
  readonly price?: Price;
};

const BASE_URL = "https://generativelanguage.googleapis.com";
const API_VERSION = "v1beta";
const VERSION_AT_END = /\/v\d\w*\/*$/;
const FILES: readonly string[] =
  `application/pdf text/plain audio/wav audio/mp3 audio/mpeg audio/aiff audio/aac audio/ogg audio/flac video/mp4 video/mpeg
  video/quicktime video/avi video/x-flv video/webm video/wmv video/3gpp`.split(/\s+/);

/**
 * Without `modelId`: `GEMINI_MODEL`, else `DEFAULT_MODEL`. Throws `model-key-missing` or `config-invalid` at once. The
 * setting `parallel: false` has no counterpart here and is not sent.
 */
export function gemini(modelId?: string, options: GeminiOptions = {}): Model {
  return geminiFrom(process.env, modelId, options);
}

/** As `gemini`, with the variables of a given environment. */
export function geminiFrom(env: Env, modelId?: string, options: GeminiOptions = {}): Model {
  const id = (modelId ?? nonEmpty(env["GEMINI_MODEL"]) ?? DEFAULT_MODEL).replace(/^models\//, "");
  const facts = modelFacts(id);
  const capabilities: ModelCapabilities = {
    ...(facts.contextTokens !== undefined && { contextTokens: facts.contextTokens }),
    images: true,
    files: FILES,
    imageInToolResult: facts.mediaInResults,
    reasoning: facts.thinking.kind !== "none",
    structured: facts.structured,
    cacheMarkers: false,
    ...options.capabilities,
  };
  const endpoint = endpointOf(id, options, env);
  const encode = bodyEncoder({
    modelId: id,
    maxOutputTokens: options.maxOutputTokens,
    maxOutputLimit: facts.maxOutputTokens,
    thinking: facts.thinking,
    images: capabilities.images !== false,
    files: capabilities.files ?? [],
    mediaInResults: capabilities.imageInToolResult === true,
    checksSignatures: facts.checksSignatures,
    extraBody: options.extraBody,
  });
  const priceNow = async (): Promise<Price | undefined> => options.price ?? priceOf(GEMINI.id, id);
  const model: Model = {
    id: `${GEMINI.id}/${id}`,
    capabilities,
    price: priceNow,
    stream(request) {
      let price: Price | undefined;
      const body = async (): Promise<readonly string[]> => {
        price ??= await priceNow();
        return encode(request);
      };
      return providerStream(endpoint, body, request.signal, {
        type: /^text\/event-stream/i,
        reader: chunkReader,
        decoderOf: (toError) => responseDecoder({ modelId: id, price, toError }),
      });
    },
  };
  return tellingLeftOut(model, IMAGES);
}

function endpointOf(id: string, options: GeminiOptions, env: Env): Endpoint {
  const base = options.baseUrl ?? nonEmpty(env["GEMINI_BASE_URL"]) ?? BASE_URL;
  const version = VERSION_AT_END.test(base.trim()) ? "" : `/${options.apiVersion ?? API_VERSION}`;
  const name = (id.includes("/") ? id : `models/${id}`).split("/").map(encodeURIComponent).join("/");
  const authorized = isAuthorized(options.headers, "x-goog-api-key");
  return {
    provider: GEMINI,
    url: `${endpointUrl(GEMINI.label, base, `/${name}:streamGenerateContent`, version)}?alt=sse`,
    key: keySource({
      provider: GEMINI.id,
      label: GEMINI.label,
      apiKey: options.apiKey,
      variables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
      env: authorized ? {} : env,
      optional: authorized,
    }),
    authorize: (key) => ({ "x-goog-api-key": key }),
    headers: requestHeaders(options.headers),
    transport: options.transport ?? nodeTransport,
  };
}
