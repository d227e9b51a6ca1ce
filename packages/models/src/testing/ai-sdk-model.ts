/** AI SDK language models that answer from a script, in the words of specification V2, V3 or V4. */

import type { AiLanguageModel, AiMessage } from "../ai-sdk/language-model.ts";

export type AiCall = {
  readonly prompt: readonly AiMessage[];
  readonly abortSignal: AbortSignal;
  readonly [name: string]: unknown;
};
export type AiReply = {
  readonly parts: readonly object[];
  /** `cut`: the stream ends after the first parts; `hang`: nothing comes after them. */
  readonly fault?: "cut" | "hang";
  /** Parts that come before a fault. Default 3. */
  readonly before?: number;
};
export type ScriptedAiModel = AiLanguageModel & {
  readonly calls: readonly AiCall[];
  /** Streams whose reader left before the end. */
  readonly cancelled: number;
};

/** One reply a call, in order; each part is a chunk of its own. */
export function scriptedAiModel(
  specificationVersion: AiLanguageModel["specificationVersion"],
  replies: readonly AiReply[],
  names: { readonly provider?: string; readonly modelId?: string } = {},
): ScriptedAiModel {
  const calls: AiCall[] = [];
  let cancelled = 0;
  return {
    specificationVersion,
    provider: names.provider ?? "acme.chat",
    modelId: names.modelId ?? "acme-1",
    supportedUrls: { "image/*": [/^https:\/\/images\.example\.com\//] },
    calls,
    get cancelled() {
      return cancelled;
    },
    doStream(options) {
      const reply = replies[calls.length];
      calls.push(options as AiCall); // what the adapter made
      if (reply === undefined) return Promise.reject(new Error("the script is over"));
      return Promise.resolve({ stream: streamOf(reply, () => cancelled++) });
    },
  };
}

function streamOf({ parts, fault, before = 3 }: AiReply, onCancel: () => void): ReadableStream<unknown> {
  const shown = fault === undefined ? parts : parts.slice(0, before);
  let at = 0;
  return new ReadableStream<unknown>({
    pull(controller) {
      const part = shown[at++];
      if (part !== undefined) return controller.enqueue(part);
      return fault === "hang" ? new Promise(() => {}) : controller.close();
    },
    cancel: onCancel,
  });
}
