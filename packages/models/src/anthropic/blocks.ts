/** Parts as content blocks of the Messages API (protocols.md section 1.2), each one as JSON text. Pure. */

import type { FilePart, Part, Seal, ToolCallPart, ToolOutput } from "@capstan/core";
import { saidText } from "../diff-text.ts";
import { inputOf, ownSeal } from "../provider/call.ts";
import type { EncodeContext } from "../provider/encoded-messages.ts";
import { base64Of, FILE_GAPS, fileMarker, fileText, isImage, mediaTypeOf, refuseTooLarge } from "../provider/files.ts";
import { isObject, memberOf } from "../provider/json.ts";
import { isBlank, wireJson } from "../wire-text.ts";

export const ANTHROPIC = { id: "anthropic", label: "Anthropic" } as const;
const PROVIDER = ANTHROPIC.id;

export type Block = { readonly json: string; readonly kind: "content" | "thinking" | "opaque" | "result" };

export type BlockContext = EncodeContext & {
  /** Thinking of another model is not sent: the newer ones refuse it. */
  readonly modelId: string;
  readonly images: boolean;
};

/** The block of one part, or undefined when it is not for this model. */
export function toBlock(part: Part, context: BlockContext): Block | undefined {
  switch (part.type) {
    case "text":
      return textBlock(part.text);
    case "reasoning":
      return part.seal === undefined ? undefined : thinkingBlock(part.text, part.seal, context.modelId);
    case "file":
      return fileBlock(part, context);
    case "tool-call":
      return part.by === "provider" ? undefined : callBlock(part, context);
    case "tool-result":
      return resultBlock(context.idOfResult(part.callId), part.output, context);
    case "source":
      return undefined;
    case "opaque":
      return part.seal.provider === PROVIDER ? { kind: "opaque", json: wireJson(part.seal.data) } : undefined;
    default:
      return part satisfies never;
  }
}

/** Answers hold no files here: a text stands for one that another model made. */
export function inAnswer(part: Part): Part {
  return part.type === "file" ? { type: "text", text: fileMarker(part, "another model made it") } : part;
}

export function textBlock(text: string): Block | undefined {
  return isBlank(text) ? undefined : content({ type: "text", text });
}

function content(block: unknown): Block {
  return { kind: "content", json: wireJson(block) };
}

function thinkingBlock(thinking: string, seal: Seal, modelId: string): Block | undefined {
  const data = ownSeal(seal, PROVIDER);
  if (data === undefined || memberOf(data, "model") !== modelId) return undefined;
  const redacted = memberOf(data, "redacted");
  if (typeof redacted === "string") {
    return { kind: "thinking", json: wireJson({ type: "redacted_thinking", data: redacted }) };
  }
  const signature = memberOf(data, "signature");
  if (typeof signature !== "string" || signature === "") return undefined;
  return { kind: "thinking", json: wireJson({ type: "thinking", thinking, signature }) };
}

function callBlock(part: ToolCallPart, context: BlockContext): Block {
  const extra = memberOf(ownSeal(part.seal, PROVIDER), "extra");
  const own = { type: "tool_use", id: context.idOfCall(part), name: part.name, input: inputOf(part) };
  return content(isObject(extra) ? { ...own, ...extra } : own);
}

function resultBlock(id: string, output: ToolOutput, context: BlockContext): Block {
  const blocks: string[] = [];
  for (const part of output.content) {
    const block = part.type === "file" ? fileBlock(part, context) : textBlock(saidText(part));
    if (block !== undefined) blocks.push(block.json);
  }
  if (output.content.length === 0 && output.output !== undefined) {
    blocks.push(wireJson({ type: "text", text: JSON.stringify(output.output) }));
  }
  const list = blocks.length === 0 ? "" : `,"content":[${blocks.join(",")}]`;
  const error = output.isError === true ? `,"is_error":true` : "";
  return { kind: "result", json: `{"type":"tool_result","tool_use_id":${wireJson(id)}${list}${error}}` };
}

function fileBlock(part: FilePart, context: BlockContext): Block | undefined {
  const mediaType = mediaTypeOf(part);
  const { data } = part;
  const base64 = base64Of(part, context.blobs);
  if (data.type !== "url" && base64 === undefined) return textBlock(fileMarker(part, FILE_GAPS.absent));
  const image = isImage(mediaType) && context.images;
  if (image || mediaType === "application/pdf") {
    if (base64 !== undefined) refuseTooLarge(ANTHROPIC, part, base64);
    const source =
      data.type === "url" ? { type: "url", url: data.url } : { type: "base64", media_type: mediaType, data: base64 };
    return content({ type: image ? "image" : "document", source });
  }
  if (data.type === "url") return textBlock(fileMarker(part, data.url));
  const text = fileText(part, context.blobs);
  if (text === undefined) return textBlock(fileMarker(part, FILE_GAPS.unreadable));
  if (isBlank(text)) return textBlock(fileMarker(part, FILE_GAPS.empty));
  return content({
    type: "document",
    source: { type: "text", media_type: "text/plain", data: text },
    ...(part.name !== undefined && { title: part.name }),
  });
}
