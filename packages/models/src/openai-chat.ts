/** Models behind OpenAI's chat completions protocol: `POST {baseUrl}/chat/completions`, answered as server-sent events. */

import { CapstanError, type Model, type ModelCapabilities, type Price } from "@capstan/core";
import { bodyEncoder } from "./openai-chat/body.ts";
import { chatDecoder } from "./openai-chat/decode.ts";
import { type ChatDialect, COMPATIBLE, OPENAI } from "./openai-chat/dialect.ts";
import { type ChatPreset, type ChatPresetName, PRESETS } from "./openai-chat/presets.ts";
import { type Env, nonEmpty } from "./provider/credentials.ts";
import { BEARER, type Endpoint, endpointOf, endpointUrl, type KeyHeader } from "./provider/endpoint.ts";
import type { ProviderName } from "./provider/errors.ts";
import { fileOptions } from "./provider/files.ts";
import { httpModel } from "./provider/http-model.ts";
import type { ProviderOptions } from "./provider/options.ts";

export type { ChatDialect, ReasoningWish } from "./openai-chat/dialect.ts";
export type { ChatPresetName } from "./openai-chat/presets.ts";

export type ChatPresetOptions = ProviderOptions & {
  /** With its version, such as `/v1`. */
  readonly baseUrl?: string;
  /** `cacheMarkers: true` for an endpoint that takes `cache_control` on content parts. */
  readonly capabilities?: ModelCapabilities;
  /** What the server says that a call cost wins. */
  readonly price?: Price;
  /** Merged over what is known about the server. */
  readonly dialect?: Partial<ChatDialect>;
};

export type OpenAIChatOptions = ChatPresetOptions & {
  /** Names the endpoint in `Model.id` and in errors, and marks what only it may get back. Default: `openai-chat`. */
  readonly name?: string;
  /** The header that carries the key. Default: `authorization` with the scheme `Bearer`; another header has no scheme. */
  readonly authHeader?: { readonly name: string; readonly scheme?: string };
};

const OPENAI_URL = "https://api.openai.com/v1";

/**
 * An endpoint of one's own, or OpenAI's when neither `baseUrl` nor `OPENAI_BASE_URL` names one. `modelId` is sent as it is;
 * without it `OPENAI_MODEL` counts. `OPENAI_API_KEY` never goes to another's `baseUrl` given here. Throws `model-key-missing` or
 * `config-invalid` at once.
 */
export function openaiChat(modelId?: string, options: OpenAIChatOptions = {}): Model {
  return openaiChatFrom(process.env, modelId, options);
}

/** As `openaiChat`, with the variables of a given environment. */
export function openaiChatFrom(env: Env, modelId?: string, options: OpenAIChatOptions = {}): Model {
  const { name = "openai-chat" } = options;
  if (!/^[\w.-]+$/.test(name)) throw invalid(`The name of an endpoint holds letters, digits, ".", "_" and "-" only.`);
  const baseUrl = nonEmpty(env["OPENAI_BASE_URL"]) ?? OPENAI_URL;
  const own = isOpenAI(options.baseUrl ?? baseUrl);
  const label = own && options.name === undefined ? "OpenAI" : name;
  const preset: ChatPreset = {
    label,
    baseUrl,
    variables: {
      ...((own || options.baseUrl === undefined) && { key: "OPENAI_API_KEY" }),
      baseUrl: "OPENAI_BASE_URL",
      model: "OPENAI_MODEL",
    },
    keyless: !own && options.baseUrl !== undefined,
    dialect: own ? OPENAI : COMPATIBLE,
    ...(own && { prices: "openai" }),
    capabilities: () => (own ? { images: true, files: ["application/pdf", "text/plain"], structured: true } : {}),
  };
  return chatModel({ id: name, label }, preset, env, modelId, options);
}

/** OpenRouter: `openrouter("anthropic/claude-sonnet-5-5")`. `OPENROUTER_API_KEY`. */
export function openrouter(modelId?: string, options?: ChatPresetOptions): Model {
  return chatPresetFrom("openrouter", process.env, modelId, options);
}

/** Cerebras. `CEREBRAS_API_KEY`. */
export function cerebras(modelId?: string, options?: ChatPresetOptions): Model {
  return chatPresetFrom("cerebras", process.env, modelId, options);
}

/** Ollama on this machine, without a key. `OLLAMA_BASE_URL` for another address. */
export function ollama(modelId?: string, options?: ChatPresetOptions): Model {
  return chatPresetFrom("ollama", process.env, modelId, options);
}

/** A vLLM server, by default on this machine. `VLLM_BASE_URL`, and `VLLM_API_KEY` if it was started with one. */
export function vllm(modelId?: string, options?: ChatPresetOptions): Model {
  return chatPresetFrom("vllm", process.env, modelId, options);
}

/** Groq. `GROQ_API_KEY`. */
export function groq(modelId?: string, options?: ChatPresetOptions): Model {
  return chatPresetFrom("groq", process.env, modelId, options);
}

/** DeepSeek. `DEEPSEEK_API_KEY`. */
export function deepseek(modelId?: string, options?: ChatPresetOptions): Model {
  return chatPresetFrom("deepseek", process.env, modelId, options);
}

/** One of the presets by its name, with the variables of a given environment. */
export function chatPresetFrom(
  name: ChatPresetName,
  env: Env,
  modelId?: string,
  options: ChatPresetOptions = {},
): Model {
  const preset = PRESETS[name];
  return chatModel({ id: name, label: preset.label }, preset, env, modelId, options);
}

function chatModel(
  provider: ProviderName,
  preset: ChatPreset,
  env: Env,
  modelId: string | undefined,
  options: OpenAIChatOptions,
): Model {
  const id = modelId ?? nonEmpty(env[preset.variables.model]);
  if (id === undefined)
    throw invalid(`No model of ${provider.label} is named. Name one, or set ${preset.variables.model}.`);
  const dialect = { ...preset.dialect, ...options.dialect };
  const capabilities: ModelCapabilities = {
    files: ["text/plain"],
    imageInToolResult: false,
    ...(dialect.outputSchema === "none" && { structured: false }),
    cacheMarkers: false,
    ...preset.capabilities?.(id),
    ...options.capabilities,
  };
  return httpModel({
    endpoint: chatEndpoint(provider, preset, env, options),
    modelId: id,
    capabilities,
    price: options.price,
    ...(preset.prices !== undefined && { listedAs: preset.prices }),
    encode: bodyEncoder({
      provider,
      modelId: id,
      dialect,
      maxOutputTokens: options.maxOutputTokens,
      temperature: !(dialect.systemRole === "developer" && FIXED_TEMPERATURE.test(id)),
      ...fileOptions(capabilities),
      cacheMarkers: capabilities.cacheMarkers === true,
      extraBody: options.extraBody,
    }),
    decoder: (answer) => chatDecoder({ ...answer, provider, dialect }),
  });
}

/** OpenAI's reasoning models refuse a temperature. */
const FIXED_TEMPERATURE = /^(o\d|gpt-5(?!.*chat))/;

function chatEndpoint(provider: ProviderName, preset: ChatPreset, env: Env, options: OpenAIChatOptions): Endpoint {
  const { key, baseUrl: variable } = preset.variables;
  const baseUrl = options.baseUrl ?? nonEmpty(env[variable]) ?? preset.baseUrl;
  return endpointOf(options, {
    provider,
    url: endpointUrl(provider, baseUrl, "/chat/completions"),
    env,
    keyVariables: key === undefined ? [] : [key],
    keyHeader: keyHeaderOf(provider, options.authHeader),
    keyless: preset.keyless === true,
  });
}

function keyHeaderOf({ label }: ProviderName, given: OpenAIChatOptions["authHeader"]): KeyHeader {
  const name = given?.name.toLowerCase() ?? BEARER.name;
  const scheme = given?.scheme ?? (name === BEARER.name ? BEARER.scheme : undefined) ?? "";
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name) || !/^[\x21-\x7e]*$/.test(scheme))
    throw invalid(`The header for the key of ${label} needs a name, and a scheme without white space.`);
  return scheme === "" ? { name } : { name, scheme };
}

function isOpenAI(baseUrl: string): boolean {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "";
  return host === "api.openai.com" || host.endsWith(".api.openai.com");
}

function invalid(message: string): CapstanError {
  return new CapstanError("config-invalid", message);
}
