/** Answers of `streamGenerateContent` as its chunks and their bytes, for scripted servers. Pure. */

/** A part of an answer; each text delta, and each part of another kind, is a chunk of its own. */
export type GeminiReplyPart =
  /** `deltas` in place of one delta with the whole text; the signature comes with the last one. */
  | {
      readonly text: string;
      readonly deltas?: readonly string[];
      readonly thought?: true;
      readonly thoughtSignature?: string;
    }
  | {
      readonly functionCall: { readonly name: string; readonly args?: unknown; readonly id?: string };
      readonly thoughtSignature?: string;
    }
  /** Any other part, as it is. */
  | { readonly raw: { readonly [name: string]: unknown } };

export type GeminiUsage = { readonly [name: string]: number };

/** One `GenerateContentResponse` of the stream. */
export type GeminiChunk = { readonly [name: string]: unknown };

export type GeminiHead = { readonly id: string; readonly model: string; readonly usage: GeminiUsage };

/** The parts as they go over the wire, in order: what the server has said, and may be told again. */
export function wireParts(parts: readonly GeminiReplyPart[]): readonly GeminiChunk[] {
  return parts.flatMap((part): readonly GeminiChunk[] => {
    if ("raw" in part) return [part.raw];
    if (!("text" in part)) return [part];
    const { text, deltas = [text], thoughtSignature, ...more } = part;
    const last = deltas.length - 1;
    return deltas.map((delta, index) => ({
      text: delta,
      ...more,
      ...(thoughtSignature !== undefined && index === last && { thoughtSignature }),
    }));
  });
}

/** The chunks of a whole answer: the last one is empty and says why it ends. */
export function replyChunks(
  head: GeminiHead,
  parts: readonly GeminiReplyPart[],
  candidate: { readonly finishReason: string; readonly [name: string]: unknown },
): readonly GeminiChunk[] {
  const chunk = (part: object, more: object, usage: GeminiUsage): GeminiChunk => ({
    candidates: [{ content: { parts: [part], role: "model" }, ...more, index: 0 }],
    usageMetadata: usage,
    modelVersion: head.model,
    responseId: head.id,
  });
  const { promptTokenCount = 0 } = head.usage;
  return [
    ...wireParts(parts).map((part) => chunk(part, {}, { promptTokenCount })),
    chunk({ text: "" }, candidate, head.usage),
  ];
}

/** Strings are sent as they are. */
export function geminiBytes(chunks: readonly (GeminiChunk | string)[]): Buffer {
  return Buffer.from(
    chunks.map((chunk) => (typeof chunk === "string" ? chunk : `data: ${JSON.stringify(chunk)}\r\n\r\n`)).join(""),
  );
}
