/** Language models of the AI SDK (`@ai-sdk/*` providers, specification V2 to V4) as models of Capstan, and its tools. */

import {
  CapstanError,
  type Model,
  type ModelCapabilities,
  type ModelEvent,
  type ModelRequest,
  type Price,
} from "@capstan/core";
import { callOptions } from "./ai-sdk/call-options.ts";
import { aiDecoder } from "./ai-sdk/decode.ts";
import { aiError } from "./ai-sdk/errors.ts";
import { type AiLanguageModel, type AiMessage, type AiProviderOptions, urlTest } from "./ai-sdk/language-model.ts";
import { toPrompt } from "./ai-sdk/prompt.ts";
import { promptBlobs } from "./ai-sdk/prompt-blobs.ts";
import { readBatches, unlessAborted } from "./ai-sdk/read-batches.ts";
import { keyIn } from "./provider/endpoint.ts";
import { tellingLeftOut } from "./provider/left-out-files.ts";
import { priceOf } from "./provider/prices.ts";

export { type AiTool, fromAiTools, type FromAiToolsOptions } from "./ai-sdk/tools.ts";
export type { AiLanguageModel, AiProviderOptions } from "./ai-sdk/language-model.ts";

export type AiSdkOptions = {
  /** Recorded with every turn, as `provider/model`. Needed when the model is given as a function. */
  readonly id?: string;
  /** Merged over what the name of the provider tells. */
  readonly capabilities?: ModelCapabilities;
  readonly maxOutputTokens?: number;
  /** Default: the published price, when it is known. */
  readonly price?: Price;
  readonly headers?: Readonly<Record<string, string>>;
  /** Options by provider. `extraBody` of a request's settings is merged over them. */
  readonly providerOptions?: AiProviderOptions;
};

const CACHE_MARKER: AiProviderOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };
/** Providers whose results may hold images; others would get them as text in base64. */
const IMAGE_RESULTS = /anthropic|bedrock|google|vertex|responses/i;

/**
 * A model made with an AI SDK provider, or a function that makes it, called once, when the first answer is asked for.
 * Keys, retries and the connection are the provider's own. Throws `config-invalid` for what is no such model.
 */
export function aiSdk(
  source: AiLanguageModel | (() => AiLanguageModel | PromiseLike<AiLanguageModel>),
  options: AiSdkOptions = {},
): Model {
  const given = typeof source === "function" ? undefined : checked(source);
  const name = options.id ?? (given === undefined ? undefined : `${given.provider}/${given.modelId}`);
  if (name === undefined || !/^[^/]+\/./.test(name)) {
    throw new CapstanError("config-invalid", 'aiSdk() of a function needs an id such as "anthropic/claude"');
  }
  const capabilities: ModelCapabilities = {
    images: true,
    imageInToolResult: IMAGE_RESULTS.test(name),
    structured: true,
    cacheMarkers: /anthropic/i.test(name),
    ...options.capabilities,
  };
  const id = `ai-sdk/${name}`;
  const told = new Set<string>();
  const blobsOf = promptBlobs();
  const modelOf = typeof source === "function" ? lazily(source, name) : async () => source;
  const priceNow = async (): Promise<Price | undefined> => options.price ?? publishedPrice(name);
  return tellingLeftOut({
    id,
    capabilities,
    price: priceNow,
    async *stream(request) {
      request.signal.throwIfAborted();
      const model = await unlessAborted(modelOf(), request.signal);
      const blobs = await blobsOf(request);
      const marker = capabilities.cacheMarkers === true ? { cacheMarker: CACHE_MARKER } : {};
      const prompt = toPrompt(request, {
        version: model.specificationVersion,
        sealedBy: id,
        images: capabilities.images !== false,
        files: capabilities.files,
        imageInToolResult: capabilities.imageInToolResult === true,
        blobs,
        readsUrl: await urlTest(model),
        ...marker,
      });
      yield* answer({ model, id, options: { ...options, ...marker }, price: await priceNow(), told }, request, prompt);
    },
  });
}

type Source = {
  readonly model: AiLanguageModel;
  readonly id: string;
  readonly options: AiSdkOptions & { readonly cacheMarker?: AiProviderOptions };
  readonly price: Price | undefined;
  /** Warnings that people have seen: each is told once. */
  readonly told: Set<string>;
};

async function* answer(
  { model, id, options, price, told }: Source,
  request: ModelRequest,
  prompt: readonly AiMessage[],
): AsyncGenerator<readonly ModelEvent[]> {
  const provider = { id: model.provider, label: model.provider };
  const key = keyIn(options.headers ?? {});
  const { options: asked, ignored } = callOptions(request, prompt, { ...options, version: model.specificationVersion });
  const notices: ModelEvent[] = [];
  const warn = (warning: string): void => {
    if (told.has(warning)) return;
    told.add(warning);
    notices.push({ type: "notice", code: "model-warning", title: `${provider.label} warns: ${warning}` });
  };
  for (const setting of ignored) warn(`the setting ${setting} has no effect here; use providerOptions`);
  const decoder = aiDecoder({
    provider,
    modelId: model.modelId,
    sealedBy: id,
    price,
    toError: (error) => aiError(provider, error, key),
    warn,
  });
  try {
    const { stream } = await unlessAborted(model.doStream(asked), request.signal);
    for await (const parts of readBatches(stream, request.signal)) {
      const events = decoder.push(parts);
      const batch = [...notices.splice(0), ...events];
      if (batch.length > 0) yield batch;
      if (decoder.finished) return;
    }
  } catch (error) {
    request.signal.throwIfAborted();
    throw aiError(provider, error, key);
  }
}

/** Our names for the makers whose own service a provider of the AI SDK speaks to. */
const MAKERS: readonly (readonly [RegExp, string])[] = [
  [/^anthropic\b/, "anthropic"],
  [/^openai\b/, "openai"],
  [/^google\.generative-ai\b/, "gemini"],
  [/^groq\b/, "groq"],
  [/^cerebras\b/, "cerebras"],
  [/^deepseek\b/, "deepseek"],
  [/^openrouter\b/, "openrouter"],
];

/** `name` as in `Model.id`, without our prefix. */
async function publishedPrice(name: string): Promise<Price | undefined> {
  const maker = MAKERS.find(([pattern]) => pattern.test(name))?.[1];
  if (maker === undefined) return undefined;
  const modelId = name.slice(name.indexOf("/") + 1);
  const own =
    maker === "anthropic" ? (await import("./anthropic/model-table.ts")).modelFacts(modelId).price : undefined;
  return own ?? priceOf(maker, modelId);
}

function lazily(
  make: () => AiLanguageModel | PromiseLike<AiLanguageModel>,
  name: string,
): () => Promise<AiLanguageModel> {
  let made: Promise<AiLanguageModel> | undefined;
  return () => {
    made ??= Promise.resolve()
      .then(make)
      .then(checked)
      .catch((error: unknown) => {
        made = undefined; // the next call tries again
        throw aiError({ id: name, label: name }, error, "");
      });
    return made;
  };
}

function checked(model: unknown): AiLanguageModel {
  const { specificationVersion, doStream, provider, modelId } = Object(model) as Partial<AiLanguageModel>; // read, not trusted
  const known = specificationVersion === "v2" || specificationVersion === "v3" || specificationVersion === "v4";
  if (!known || typeof doStream !== "function" || typeof provider !== "string" || typeof modelId !== "string") {
    const message = `aiSdk() takes a language model of the AI SDK, specification v2 to v4, not ${describe(model)}`;
    throw new CapstanError("config-invalid", message);
  }
  return model as AiLanguageModel; // its members were just looked at
}

function describe(model: unknown): string {
  if (typeof model === "string") return `the name ${JSON.stringify(model)}: import its provider and pass the model`;
  if (typeof model !== "object" || model === null) return typeof model;
  return "specificationVersion" in model
    ? `version ${String(model.specificationVersion)}`
    : "an object without version";
}
