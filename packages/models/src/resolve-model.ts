/** A model by name, as settings and command lines give it. Loads only the provider that is named. */

import { CapstanError, type Model } from "@capstan/core";
import type { ChatPresetName } from "./openai-chat.ts";
import { type Env, nonEmpty } from "./provider/credentials.ts";
import { lookUp } from "./provider/json.ts";

type FromEnvOptions = { readonly maxOutputTokens?: number };
type KnownProvider = {
  /** Variables of which one holds the key. Without any, none is needed. */
  readonly keys: readonly string[];
  readonly load: (modelId: string | undefined, env: Env, options: FromEnvOptions) => Promise<Model>;
};

/** In the order of their names. */
export const PROVIDERS: Readonly<Record<string, KnownProvider>> = {
  anthropic: {
    keys: ["ANTHROPIC_API_KEY"],
    load: async (modelId, env, options) => (await import("./anthropic.ts")).anthropicFrom(env, modelId, options),
  },
  cerebras: chatPreset("cerebras", ["CEREBRAS_API_KEY"]),
  deepseek: chatPreset("deepseek", ["DEEPSEEK_API_KEY"]),
  demo: { keys: [], load: async (modelId) => (await import("./demo.ts")).demo(modelId) },
  gemini: {
    keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    load: async (modelId, env, options) => (await import("./gemini.ts")).geminiFrom(env, modelId, options),
  },
  groq: chatPreset("groq", ["GROQ_API_KEY"]),
  ollama: chatPreset("ollama", []),
  openai: {
    keys: ["OPENAI_API_KEY"],
    load: async (modelId, env, options) => (await import("./openai.ts")).openaiFrom(env, modelId, options),
  },
  "openai-chat": {
    keys: ["OPENAI_API_KEY"],
    load: async (modelId, env, options) => (await import("./openai-chat.ts")).openaiChatFrom(env, modelId, options),
  },
  openrouter: chatPreset("openrouter", ["OPENROUTER_API_KEY"]),
  vllm: chatPreset("vllm", []),
};

function chatPreset(name: ChatPresetName, keys: readonly string[]): KnownProvider {
  return {
    keys,
    load: async (modelId, env, options) =>
      (await import("./openai-chat.ts")).chatPresetFrom(name, env, modelId, options),
  };
}

/**
 * `provider/model`, or `provider` for its default model; further slashes belong to the model. Keys, addresses and default
 * models come from the provider's own variables; `CAPSTAN_MAX_OUTPUT_TOKENS` bounds the answers of all. Throws
 * `model-unknown` for a provider that is not known, `model-key-missing` when the environment holds no key for it, and
 * `config-invalid` for a variable that cannot be used.
 */
export async function resolveModel(name: string, env: Env = process.env): Promise<Model> {
  const slash = name.indexOf("/");
  const provider = slash === -1 ? name : name.slice(0, slash);
  const modelId = slash === -1 ? "" : name.slice(slash + 1);
  const known = lookUp(PROVIDERS, provider);
  if (known === undefined) throw unknownProvider(name, provider);
  return known.load(nonEmpty(modelId), env, optionsFrom(env));
}

const MAX_TOKENS = "CAPSTAN_MAX_OUTPUT_TOKENS";

function optionsFrom(env: Env): FromEnvOptions {
  const given = nonEmpty(env[MAX_TOKENS]);
  if (given === undefined) return {};
  const maxOutputTokens = /^\d+$/.test(given) ? Number(given) : 0;
  if (maxOutputTokens > 0 && Number.isSafeInteger(maxOutputTokens)) return { maxOutputTokens };
  throw new CapstanError("config-invalid", `${MAX_TOKENS} must be a whole number above 0. Correct or unset it.`);
}

/** What people call models and providers when they leave out the provider, or take its other name. */
const CALLED: readonly (readonly [pattern: RegExp, provider: string])[] = [
  [/^claude(-|$)/, "anthropic"],
  [/^(chat)?gpt(-|$)|^o\d(-|$)|^codex-/, "openai"],
  [/^gemini-|^google$|^vertex(ai)?$/, "gemini"],
];

function unknownProvider(name: string, provider: string): CapstanError {
  const known = Object.keys(PROVIDERS);
  const called = CALLED.find(([pattern]) => pattern.test(provider.toLowerCase()))?.[1];
  const near = called ?? nearest(provider.toLowerCase(), known);
  const rest = name.slice(provider.length);
  const meant = called !== undefined && provider.includes("-") ? `${called}/${name}` : `${near ?? ""}${rest}`;
  const hint = near === undefined ? "" : ` Did you mean ${JSON.stringify(meant)}?`;
  const list = `Name one of ${known.join(", ")}, as provider/model.`;
  return new CapstanError("model-unknown", `There is no model provider ${JSON.stringify(provider)}.${hint} ${list}`);
}

/** The word with the fewest letters to change, if they are few. */
function nearest(word: string, words: readonly string[]): string | undefined {
  const [best] = words
    .map((candidate) => ({ candidate, distance: lettersToChange(word, candidate) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= Math.min(2, word.length - 2) ? best.candidate : undefined;
}

/** Letters to put in, take out or replace (Levenshtein); a long word is not looked at. */
function lettersToChange(from: string, to: string): number {
  if (from.length > 2 * to.length + 2) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [at, letter] of from.split("").entries()) {
    const next = [at + 1];
    for (let index = 0; index < to.length; index++) {
      const replaced = (row[index] ?? 0) + (to[index] === letter ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
