/** Servers of the chat completions protocol that are known by name (protocols.md section 2.3; their documentation, 2026-11-21). */

import type { ModelCapabilities } from "@capstan/core";
import type { JsonObject } from "../provider/json.ts";
import { type ChatDialect, COMPATIBLE, effortFor, reasoningEffort, type ReasoningWish } from "./dialect.ts";

export type ChatPreset = {
  /** How people read it. */
  readonly label: string;
  readonly baseUrl: string;
  /** Variables of the environment. Servers without `key` need none. */
  readonly variables: { readonly key?: string; readonly baseUrl: string; readonly model: string };
  /** The server may be used without the key. */
  readonly keyless?: boolean;
  readonly dialect: ChatDialect;
  /** The provider under which prices are listed, if not its own name. */
  readonly prices?: string;
  readonly capabilities?: (modelId: string) => ModelCapabilities;
};

export type ChatPresetName = "openrouter" | "cerebras" | "ollama" | "vllm" | "groq" | "deepseek";

export const PRESETS: Readonly<Record<ChatPresetName, ChatPreset>> = {
  openrouter: {
    label: "OpenRouter",
    baseUrl: "https://openrouter.ai/api/v1",
    variables: variablesOf("OPENROUTER"),
    dialect: {
      ...COMPATIBLE,
      reasoningOut: "reasoning_details",
      reasoning: openrouterReasoning,
      outputSchema: "strict",
      streamUsage: false, // usage comes unasked
      costInUsage: true,
      toolMarkers: true,
    },
    capabilities: (modelId) => ({
      files: ["application/pdf", "text/plain"],
      cacheMarkers: /^~?anthropic\//.test(modelId),
    }),
  },
  cerebras: {
    label: "Cerebras",
    baseUrl: "https://api.cerebras.ai/v1",
    variables: variablesOf("CEREBRAS"),
    dialect: {
      ...COMPATIBLE,
      maxTokens: "max_completion_tokens",
      reasoningOut: "reasoning",
      reasoning: (wish) => (wish === "off" ? { disable_reasoning: true } : reasoningEffort(wish)),
      outputSchema: "strict",
    },
  },
  ollama: {
    label: "Ollama",
    baseUrl: "http://127.0.0.1:11434/v1",
    variables: { baseUrl: "OLLAMA_BASE_URL", model: "OLLAMA_MODEL" },
    keyless: true,
    dialect: { ...COMPATIBLE, reasoningOut: "reasoning" },
  },
  vllm: {
    label: "vLLM",
    baseUrl: "http://127.0.0.1:8000/v1",
    variables: variablesOf("VLLM"),
    keyless: true,
    dialect: { ...COMPATIBLE, reasoningOut: "reasoning", reasoning: vllmReasoning },
  },
  groq: {
    label: "Groq",
    baseUrl: "https://api.groq.com/openai/v1",
    variables: variablesOf("GROQ"),
    dialect: { ...COMPATIBLE, maxTokens: "max_completion_tokens", reasoningOut: "reasoning" },
  },
  deepseek: {
    label: "DeepSeek",
    baseUrl: "https://api.deepseek.com",
    variables: variablesOf("DEEPSEEK"),
    dialect: { ...COMPATIBLE, reasoningOut: "reasoning_content", reasoning: deepseekReasoning, outputSchema: "none" },
  },
};

function variablesOf(name: string): { readonly key: string; readonly baseUrl: string; readonly model: string } {
  return { key: `${name}_API_KEY`, baseUrl: `${name}_BASE_URL`, model: `${name}_MODEL` };
}

function openrouterReasoning(wish: ReasoningWish): JsonObject {
  if (wish === "off") return { reasoning: { effort: "none" } };
  if (wish === "adaptive") return { reasoning: { enabled: true } };
  return { reasoning: typeof wish === "object" ? { max_tokens: Math.round(wish.budgetTokens) } : { effort: wish } };
}

function deepseekReasoning(wish: ReasoningWish): JsonObject {
  if (wish === "off") return { thinking: { type: "disabled" } };
  return { thinking: { type: "enabled" }, ...reasoningEffort(wish) };
}

/** Templates of open models call their switch by one of two names and ignore the other. */
function vllmReasoning(wish: ReasoningWish): JsonObject {
  const on = wish !== "off";
  const effort = on ? effortFor(wish) : undefined;
  return {
    chat_template_kwargs: { enable_thinking: on, thinking: on },
    ...(effort !== undefined && { reasoning_effort: effort }),
  };
}
