/** A language model of the AI SDK (specification V4) over chat completions: fetch and a pipe of streams, as its providers are built. */

import type { Transformer } from "node:stream/web";
import type { AiLanguageModel } from "capstan/models/ai-sdk";
import { TEXT_FORMATS } from "./wire-formats.ts";

type Chunk = {
  readonly choices: readonly { readonly delta: { readonly content?: string }; readonly finish_reason: string | null }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
};

const { path, headers, body } = TEXT_FORMATS["openai-chat"];

/** `url` as given to the other formats. */
export function aiSdkSource(url: string): AiLanguageModel {
  return {
    specificationVersion: "v4",
    provider: "bench.chat",
    modelId: "bench",
    async doStream() {
      const sent = { "content-type": "application/json", ...headers };
      const response = await fetch(`${url}/openai-chat${path}`, {
        method: "POST",
        headers: sent,
        body: JSON.stringify(body),
      });
      if (!response.ok || response.body === null) throw new Error(`the model answered ${response.status}`);
      return {
        stream: response.body
          .pipeThrough(new TextDecoderStream())
          .pipeThrough(new TransformStream(events()))
          .pipeThrough(new TransformStream(parts())),
      };
    },
  };
}

function events(): Transformer<string, Chunk> {
  let rest = "";
  return {
    transform(piece, controller) {
      const blocks = (rest + piece).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = block.slice("data: ".length);
        if (data !== "[DONE]") controller.enqueue(JSON.parse(data) as Chunk); // the bench wrote it
      }
    },
  };
}

function parts(): Transformer<Chunk, object> {
  let finish: string | null = null;
  let usage: Chunk["usage"];
  return {
    start(controller) {
      controller.enqueue({ type: "stream-start", warnings: [] });
      controller.enqueue({ type: "text-start", id: "0" });
    },
    transform(chunk, controller) {
      usage = chunk.usage ?? usage;
      const [choice] = chunk.choices;
      finish = choice?.finish_reason ?? finish;
      const delta = choice?.delta.content ?? "";
      if (delta !== "") controller.enqueue({ type: "text-delta", id: "0", delta });
    },
    flush(controller) {
      const { prompt_tokens: input = 0, completion_tokens: output = 0 } = usage ?? {};
      controller.enqueue({ type: "text-end", id: "0" });
      controller.enqueue({
        type: "finish",
        finishReason: { unified: finish, raw: finish },
        usage: { inputTokens: { total: input, noCache: input }, outputTokens: { total: output, text: output } },
      });
    },
  };
}
