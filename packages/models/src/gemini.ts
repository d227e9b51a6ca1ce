/** Gemini models: `POST {baseUrl}/v1beta/models/{model}:streamGenerateContent` (protocols.md section 3), answered as server-sent events. */

import type { Model, ModelCapabilities } from "@capstan/core";
import { bodyEncoder } from "./gemini/body.ts";
import { chunkReader } from "./gemini/chunk-reader.ts";
import { responseDecoder } from "./gemini/decode.ts";
import { DEFAULT_MODEL, modelFacts } from "./gemini/model-table.ts";
import { IMAGES } from "./gemini/parts.ts";
import { GEMINI } from "./gemini/signature.ts";
import { type Env, nonEmpty } from "./provider/credentials.ts";
import { type Endpoint, endpointOf, endpointUrl } from "./provider/endpoint.ts";
import { fileOptions } from "./provider/files.ts";
import { httpModel } from "./provider/http-model.ts";
import type { ProviderOptions } from "./provider/options.ts";

export type GeminiOptions = ProviderOptions & {
  /** With or without a version such as `/v1beta` at its end. */
  readonly baseUrl?: string;
  /** Used when the base URL names no version. Default `v1beta`. */
  readonly apiVersion?: string;
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
    imageInToolResult: facts.imageInToolResult,
    reasoning: facts.thinking.kind !== "none",
    structured: facts.structured,
    cacheMarkers: false,
    ...options.capabilities,
  };
  return httpModel({
    endpoint: geminiEndpoint(env, options, id),
    modelId: id,
    capabilities,
    price: options.price,
    images: IMAGES,
    encode: bodyEncoder({
      modelId: id,
      maxOutputTokens: options.maxOutputTokens,
      maxOutputLimit: facts.maxOutputTokens,
      thinking: facts.thinking,
      ...fileOptions(capabilities),
      checksSignatures: facts.checksSignatures,
      extraBody: options.extraBody,
    }),
    decoder: responseDecoder,
    reader: chunkReader,
  });
}

function geminiEndpoint(env: Env, options: GeminiOptions, id: string): Endpoint {
  const baseUrl = options.baseUrl ?? nonEmpty(env["GEMINI_BASE_URL"]) ?? BASE_URL;
  const version = VERSION_AT_END.test(baseUrl.trim()) ? "" : `/${options.apiVersion ?? API_VERSION}`;
  const name = (id.includes("/") ? id : `models/${id}`).split("/").map(encodeURIComponent).join("/");
  return endpointOf(options, {
    provider: GEMINI,
    url: `${endpointUrl(GEMINI, baseUrl, `/${name}:streamGenerateContent`, version)}?alt=sse`,
    env,
    keyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    keyHeader: { name: "x-goog-api-key" },
  });
}
