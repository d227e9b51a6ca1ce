/** Embedders over HTTP: Ollama's `POST /api/embed`, and `POST /embeddings` of OpenAI and whatever speaks like it. */

import { CapstanError } from "@capstan/core";
import type { Embedder } from "./embedder.ts";
import { postJson } from "./post-json.ts";

export type EmbedderOptions = {
  /** Ollama: default `http://127.0.0.1:11434`. OpenAI: with `/v1`, default `https://api.openai.com/v1`. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** Put before each text, for models that are trained so, such as `search_document: ` and `search_query: `. */
  readonly prefix?: { readonly passage: string; readonly query: string };
  readonly leastSimilarity?: number;
};

export function ollamaEmbedder(model: string, options: EmbedderOptions = {}): Embedder {
  const { baseUrl = "http://127.0.0.1:11434" } = options;
  return httpEmbedder("ollama", model, `${baseUrl}/api/embed`, options, (answer) => membersOf(answer)["embeddings"]);
}

/** OpenAI, LM Studio, vLLM and others. */
export function openaiEmbedder(model: string, options: EmbedderOptions = {}): Embedder {
  const { baseUrl = "https://api.openai.com/v1" } = options;
  return httpEmbedder("openai", model, `${baseUrl}/embeddings`, options, (answer) => {
    const { data } = membersOf(answer);
    if (!Array.isArray(data)) return undefined;
    const vectors: unknown[] = [];
    for (const [position, item] of data.entries()) {
      const { index = position, embedding } = membersOf(item);
      if (typeof index !== "number" || !(index in data) || index in vectors) return undefined;
      vectors[index] = embedding;
    }
    return vectors;
  });
}

function httpEmbedder(
  kind: string,
  model: string,
  url: string,
  { apiKey, prefix, leastSimilarity }: EmbedderOptions,
  vectorsOf: (answer: unknown) => unknown,
): Embedder {
  if (model.trim() === "" || !URL.canParse(url))
    throw new CapstanError("config-invalid", `${kind} embedder: name a model, and a baseUrl that is an address`);
  // another prefix gives other vectors
  const id = `${kind}/${model}${prefix === undefined ? "" : `#${prefix.passage}|${prefix.query}`}`;
  return {
    id,
    ...(leastSimilarity !== undefined && { leastSimilarity }),
    async embed(texts, { as, signal }) {
      const input = prefix === undefined ? texts : texts.map((text) => prefix[as] + text);
      const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
      const body = { model, input, ...(kind === "openai" && { encoding_format: "float" }) };
      const vectors = vectorsOf(await postJson({ url, headers, body, of: id, signal }));
      return vectors as readonly number[][]; // `embedAll` looks at each
    },
  };
}

function membersOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { readonly [name: string]: unknown }) : {};
}
