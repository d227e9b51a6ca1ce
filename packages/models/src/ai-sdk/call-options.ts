/** The options of one `doStream`: prompt, tools, settings. What a version has no word for is named in `ignored`. */

import type { ModelRequest, ModelSettings } from "@capstan/core";
import { effortOf } from "../provider/effort.ts";
import { isObject, type JsonObject } from "../provider/json.ts";
import type { AiMessage, AiProviderOptions, AiVersion } from "./language-model.ts";

export type CallDefaults = {
  readonly version: AiVersion;
  readonly maxOutputTokens?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly providerOptions?: AiProviderOptions;
};

export function callOptions(
  request: ModelRequest,
  prompt: readonly AiMessage[],
  defaults: CallDefaults,
): { readonly options: object; readonly ignored: readonly string[] } {
  const { settings, tools, signal } = request;
  const { version, headers } = defaults;
  const maxOutputTokens = settings.maxOutputTokens ?? defaults.maxOutputTokens;
  const providerOptions = merged(defaults.providerOptions, settings.extraBody);
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
    ...(hasTools && { tools: tools.map((tool) => ({ type: "function", ...tool })), toolChoice: choiceOf(settings) }),
    ...(settings.outputSchema !== undefined && {
      responseFormat: { type: "json", name: "output", schema: settings.outputSchema },
    }),
    ...(reasoning !== undefined && { reasoning }),
    ...(headers !== undefined && { headers }),
    ...(providerOptions !== undefined && { providerOptions }),
  };
  return { options, ignored };
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

/** The options of a provider are merged, so that a setting does not take away what the model was made with. */
function merged(base: AiProviderOptions | undefined, extra: ModelSettings["extraBody"]): AiProviderOptions | undefined {
  if (!isObject(extra)) return base;
  const result: { [provider: string]: JsonObject } = { ...base };
  for (const [provider, options] of Object.entries(extra)) {
    if (isObject(options)) result[provider] = { ...result[provider], ...options };
  }
  return result;
}
