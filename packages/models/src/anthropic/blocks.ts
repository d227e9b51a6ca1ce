/** Parts as content blocks of the Messages API (protocols.md section 1.2), each one as JSON text. Pure. */

import type { FilePart, Json, Part, Seal, ToolCallPart, ToolOutput } from "@capstan/core";
import { diffText } from "../diff-text.ts";
import { isBlank, wireJson } from "../wire-text.ts";

export const PROVIDER = "anthropic";

export type Block = { readonly json: string; readonly kind: "content" | "thinking" | "opaque" | "result" };

export type BlockContext = {
  /** Thinking of another model is not sent: the newer ones refuse it. */
  readonly modelId: string;
  readonly images: boolean;
  /** Bytes of the blobs that the message names, in base64. */
  readonly blobs: ReadonlyMap<string, string>;
  readonly idOfCall: (part: ToolCallPart) => string;
  readonly idOfResult: (callId: string) => string;
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

/** Member of an object in JSON; undefined for anything else. */
export function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) ? value[name] : undefined;
}

export function isObject(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function textBlock(text: string): Block | undefined {
  return isBlank(text) ? undefined : content({ type: "text", text });
}

function content(block: unknown): Block {
  return { kind: "content", json: wireJson(block) };
}

function thinkingBlock(thinking: string, seal: Seal, modelId: string): Block | undefined {
  if (seal.provider !== PROVIDER || memberOf(seal.data, "model") !== modelId) return undefined;
  const redacted = memberOf(seal.data, "redacted");
  if (typeof redacted === "string") {
    return { kind: "thinking", json: wireJson({ type: "redacted_thinking", data: redacted }) };
  }
  const signature = memberOf(seal.data, "signature");
  if (typeof signature !== "string" || signature === "") return undefined;
  return { kind: "thinking", json: wireJson({ type: "thinking", thinking, signature }) };
}

function callBlock(part: ToolCallPart, context: BlockContext): Block {
  const input = isObject(part.input) ? part.input : part.input === null ? {} : { input: part.input };
  const extra = part.seal?.provider === PROVIDER ? memberOf(part.seal.data, "extra") : undefined;
  const own = { type: "tool_use", id: context.idOfCall(part), name: part.name, input };
  return content(isObject(extra) ? { ...own, ...extra } : own);
}

function resultBlock(id: string, output: ToolOutput, context: BlockContext): Block {
  const blocks: string[] = [];
  for (const part of output.content) {
    const block =
      part.type === "file" ? fileBlock(part, context) : textBlock(part.type === "diff" ? diffText(part) : part.text);
    if (block !== undefined) blocks.push(block.json);
  }
  if (output.content.length === 0 && output.output !== undefined) {
    blocks.push(wireJson({ type: "text", text: JSON.stringify(output.output) }));
  }
  const list = blocks.length === 0 ? "" : `,"content":[${blocks.join(",")}]`;
  const error = output.isError === true ? `,"is_error":true` : "";
  return { kind: "result", json: `{"type":"tool_result","tool_use_id":${wireJson(id)}${list}${error}}` };
}

const IMAGES: readonly string[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const TEXT_TYPE = /^text\/|[/+](json|xml|yaml|javascript|typescript|toml|sql)$/;

function fileBlock(part: FilePart, context: BlockContext): Block | undefined {
  const mediaType = part.mediaType === "image/jpg" ? "image/jpeg" : part.mediaType.replace(/;.*/, "").toLowerCase();
  const { data } = part;
  const named = part.name === undefined ? mediaType : `${part.name} (${mediaType})`;
  if (data.type === "blob" && !context.blobs.has(data.hash)) return textBlock(`[File ${named} is not at hand]`);
  const isImage = IMAGES.includes(mediaType) && context.images;
  if (isImage || mediaType === "application/pdf") {
    const source =
      data.type === "url"
        ? { type: "url", url: data.url }
        : { type: "base64", media_type: mediaType, data: base64Of(part, context) };
    return content({ type: isImage ? "image" : "document", source });
  }
  if (data.type === "url") return textBlock(`[File ${named}: ${data.url}]`);
  if (!TEXT_TYPE.test(mediaType)) return textBlock(`[File ${named}: this model cannot read it]`);
  const text = Buffer.from(base64Of(part, context), "base64").toString();
  if (isBlank(text)) return textBlock(`[File ${named} is empty]`);
  return content({
    type: "document",
    source: { type: "text", media_type: "text/plain", data: text },
    ...(part.name !== undefined && { title: part.name }),
  });
}

function base64Of(part: FilePart, context: BlockContext): string {
  if (part.data.type === "base64") return part.data.base64;
  return part.data.type === "blob" ? (context.blobs.get(part.data.hash) ?? "") : "";
}
