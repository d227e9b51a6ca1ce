/** An AI SDK language model (specification V4) that answers from a script and refuses the prompts that strict providers refuse. */

import type { AiLanguageModel } from "@capstan/models/ai-sdk";
import { checkAiPrompt } from "@capstan/models/testing";
import type { Said, SaidScript } from "./wire-formats.ts";

export type StrictAiModel = AiLanguageModel & {
  readonly violations: readonly string[];
  readonly prompts: readonly unknown[];
};

export function strictAiModel(script: SaidScript): StrictAiModel {
  const violations: string[] = [];
  const prompts: unknown[] = [];
  const issued = new Set<string>();
  return {
    specificationVersion: "v4",
    provider: "acme.chat",
    modelId: "acme-1",
    violations,
    prompts,
    async doStream(options) {
      const { prompt } = options as { readonly prompt?: unknown };
      const problems = checkAiPrompt(prompt, (state) => issued.has(JSON.stringify(state)));
      const index = prompts.push(prompt) - 1;
      violations.push(...problems);
      if (problems.length > 0) throw new Error(problems.join("; "));
      const said = script(index);
      if (said.reasoning !== undefined) issued.add(JSON.stringify(stateOf(index)));
      return Promise.resolve({ stream: ReadableStream.from(partsOf(said, index)) });
    },
  };
}

function stateOf(index: number): object {
  return { acme: { signature: `signed ${index}` } };
}

/** Each part in a turn of the event loop of its own. */
async function* partsOf({ reasoning, text, calls = [] }: Said, index: number): AsyncGenerator<object> {
  for (const part of [
    { type: "stream-start", warnings: [] },
    { type: "response-metadata", id: `resp_${index}`, modelId: "acme-1" },
    ...(reasoning === undefined ? [] : blockParts("reasoning", reasoning, { providerMetadata: stateOf(index) })),
    ...(text === undefined ? [] : blockParts("text", text, {})),
    ...calls.flatMap(({ name, input }, at) => {
      const id = `a${index}x${at}`;
      const json = JSON.stringify(input);
      return [
        { type: "tool-input-start", id, toolName: name },
        { type: "tool-input-delta", id, delta: json },
        { type: "tool-input-end", id },
        { type: "tool-call", toolCallId: id, toolName: name, input: json },
      ];
    }),
    {
      type: "finish",
      usage: { inputTokens: { total: 20, noCache: 20 }, outputTokens: { total: 7, text: 7 } },
      finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: undefined },
    },
  ]) {
    await new Promise((resolve) => setImmediate(resolve));
    yield part;
  }
}

function blockParts(kind: "text" | "reasoning", text: string, end: object): readonly object[] {
  const half = Math.ceil(text.length / 2);
  return [
    { type: `${kind}-start`, id: kind },
    ...[text.slice(0, half), text.slice(half)].map((delta) => ({ type: `${kind}-delta`, id: kind, delta })),
    { type: `${kind}-end`, id: kind, ...end },
  ];
}
