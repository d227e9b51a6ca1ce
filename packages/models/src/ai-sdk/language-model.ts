/** What Capstan uses of an AI SDK language model: specification V2, V3 and V4 of `@ai-sdk/provider`, by structure alone. */

import type { JsonObject } from "../provider/json.ts";

/** Any `LanguageModelV2`, `LanguageModelV3` or `LanguageModelV4`. A method: their options are narrower than `object`. */
export type AiLanguageModel = {
  readonly specificationVersion: AiVersion;
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls?: AiUrls | PromiseLike<AiUrls> | undefined;
  doStream(options: object): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
};
export type AiVersion = "v2" | "v3" | "v4";

/** Patterns of the URLs a model reads by itself, by media type (`image/*`, `*`). */
type AiUrls = { readonly [mediaType: string]: readonly RegExp[] };
export type AiUrlTest = (mediaType: string, url: string) => boolean;

/** By provider: `{ anthropic: { cacheControl: { type: "ephemeral" } } }`. */
export type AiProviderOptions = { readonly [provider: string]: JsonObject };

/** A part of the prompt. Its members differ with the version; they are made in `prompt.ts` and `prompt-files.ts` alone. */
export type AiPart = { readonly type: string; readonly [member: string]: unknown };
export type AiMessage = {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly AiPart[];
  readonly providerOptions?: AiProviderOptions;
};

/** Whether the model reads this URL itself. Others would have to be fetched here, which nobody asked for. */
export async function urlTest(model: AiLanguageModel): Promise<AiUrlTest> {
  const supported = Object.entries((await model.supportedUrls) ?? {});
  return (mediaType, url) =>
    supported.some(([pattern, urls]) => fits(pattern, mediaType) && urls.some((test) => url.search(test) !== -1));
}

function fits(pattern: string, mediaType: string): boolean {
  if (pattern === "*" || pattern === "*/*") return true;
  return pattern.endsWith("/*") ? mediaType.startsWith(pattern.slice(0, -1)) : pattern === mediaType;
}
