/** The options of one `doStream`: prompt, tools, settings. What a version has no word for is named in `ignored`. */

import type { ModelRequest, ModelSettings } from "@capstan/core";
import { effortOf } from "../provider/effort.ts";
import { merged } from "../provider/extra-body.ts";
import { isObject, type JsonObject } from "../provider/json.ts";
import type { AiMessage, AiProviderOptions, AiVersion } from "./language-model.ts";

export type CallDefaults = {
  readonly version: AiVersion;
  readonly maxOutputTokens?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly providerOptions?: AiProviderOptions;
  /** Goes onto the last tool while there is room: it leaves the tools in the cache when another one is added later. */
  readonly cacheMarker?: AiProviderOptions;
};

/** The providers that take markers take this many in one request. */
const MAX_MARKERS = 4;

export function callOptions(
  request: ModelRequest,
  prompt: readonly AiMessage[],
  defaults: CallDefaults,
): { readonly options: object; readonly ignored: readonly string[] } {
  const { settings, tools, signal } = request;
  const { version, headers } = defaults;
  const maxOutputTokens = settings.maxOutputTokens ?? defaults.maxOutputTokens;
  const providerOptions = optionsWith(defaults.providerOptions, settings.extraBody);
  const reasoning = version === "v4" ? reasoningOf(settings.reasoning) : undefined;
  const hasTools = tools.length > 0;
  const ignored = [
    ...(version !== "v4" && settings.reasoning !== undefined ? ["reasoning"] : []),
    ...(settings.parallel === undefined ? [] : ["parallel"]),
  ];
  const options = {
    prompt,
    abortSignal: signal,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(settings.temperature !== undefined && { temperature: settings.temperature }),
    ...(hasTools && { tools: functionTools(request, defaults.cacheMarker), toolChoice: choiceOf(settings) }),
    ...(settings.outputSchema !== undefined && {
      responseFormat: { type: "json", name: "output", schema: settings.outputSchema },
    }),
    ...(reasoning !== undefined && { reasoning }),
    ...(headers !== undefined && { headers }),
    ...(providerOptions !== undefined && { providerOptions }),
  };
  return { options, ignored };
}

function functionTools({ tools, cache }: ModelRequest, marker: AiProviderOptions | undefined): readonly object[] {
  const marked = marker !== undefined && cache.includes(-1) && cache.length < MAX_MARKERS;
  return tools.map((tool, index) => ({
    type: "function",
    ...tool,
    ...(marked && index === tools.length - 1 && { providerOptions: marker }),
  }));
}

function choiceOf({ toolChoice = "auto" }: ModelSettings): object {
  return typeof toolChoice === "string" ? { type: toolChoice } : { type: "tool", toolName: toolChoice.tool };
}

/** V4 knows levels only: a budget becomes the level that is nearest to it. */
function reasoningOf(reasoning: ModelSettings["reasoning"]): string | undefined {
  if (reasoning === undefined || reasoning === "adaptive") return undefined;
  if (typeof reasoning === "string") return reasoning === "off" ? "none" : reasoning;
  return effortOf(reasoning.budgetTokens);
}

/** Members that are no options of a provider have no place here. */
function optionsWith(base: AiProviderOptions = {}, extra: ModelSettings["extraBody"]): AiProviderOptions | undefined {
  const given = isObject(extra) ? Object.entries(extra).filter(([, options]) => isObject(options)) : [];
  const both = merged(base, Object.fromEntries(given)) as { readonly [provider: string]: JsonObject }; // both sides hold objects only
  return Object.keys(both).length === 0 ? undefined : both;
}
