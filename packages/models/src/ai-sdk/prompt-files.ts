/** Files in a prompt of the AI SDK: as each version writes them, or as a text when this model cannot read them. */

import type { FilePart, ToolOutput } from "@capstan/core";
import { saidText } from "../diff-text.ts";
import { base64Of, type Blobs, FILE_GAPS, fileMarker, fileText, isImage, mediaTypeOf } from "../provider/files.ts";
import { isBlank } from "../wire-text.ts";
import type { AiPart, AiUrlTest, AiVersion } from "./language-model.ts";

export type FileContext = {
  readonly version: AiVersion;
  readonly images: boolean;
  /** Media types beside images. Undefined: any. */
  readonly files: readonly string[] | undefined;
  readonly imageInToolResult: boolean;
  readonly blobs: Blobs;
  readonly readsUrl: AiUrlTest;
};

/** A file of a message. Texts go out as text: few providers take text files. */
export function filePart(part: FilePart, context: FileContext): AiPart {
  const mediaType = mediaTypeOf(part);
  const content = fileText(part, context.blobs);
  if (content !== undefined && context.files?.includes(mediaType) !== true) {
    return textPart(
      isBlank(content) ? fileMarker(part, FILE_GAPS.empty) : `${fileMarker(part, "its text")}\n${content}`,
    );
  }
  const data = bytesOf(part, context);
  if (data.gap !== undefined) return textPart(fileMarker(part, data.gap));
  const { base64, url } = data;
  const named = { mediaType, ...(part.name !== undefined && { filename: part.name }) };
  if (context.version !== "v4") return { type: "file", ...named, data: url ?? base64 };
  return { type: "file", ...named, data: url === undefined ? { type: "data", data: base64 } : { type: "url", url } };
}

type FileBytes = { readonly gap?: string; readonly base64?: string; readonly url?: URL };

function bytesOf(part: FilePart, context: FileContext): FileBytes {
  const mediaType = mediaTypeOf(part);
  const readable = isImage(mediaType) ? context.images : (context.files?.includes(mediaType) ?? true);
  const { data } = part;
  if (data.type === "url") {
    const reads = readable && URL.canParse(data.url) && context.readsUrl(mediaType, data.url);
    return reads ? { url: new URL(data.url) } : { gap: data.url };
  }
  const base64 = base64Of(part, context.blobs);
  if (base64 === undefined) return { gap: FILE_GAPS.absent };
  return readable ? { base64 } : { gap: FILE_GAPS.unreadable };
}

/** What a tool said, and the images that must follow in a message of their own because results cannot hold them here. */
export type ResultParts = { readonly output: AiPart; readonly below: readonly AiPart[] };

export function resultParts(output: ToolOutput, context: FileContext): ResultParts {
  const below: AiPart[] = [];
  const failed = output.isError === true;
  const value = output.content.flatMap((part): readonly AiPart[] => {
    if (part.type !== "file") return textsOf(saidText(part));
    const sent = filePart(part, context);
    if (sent.type !== "file") return [sent];
    const inside = context.imageInToolResult && !failed ? insideResult(part, context) : undefined;
    if (inside !== undefined) return [inside];
    below.push(sent);
    return [textPart(fileMarker(part, FILE_GAPS.below))];
  });
  if (!failed && value.some((part) => part.type !== "text")) return { output: { type: "content", value }, below };
  if (!failed && output.content.length === 0 && output.output !== undefined) {
    return { output: { type: "json", value: output.output }, below };
  }
  const text = value.map((part) => textIn(part)).join("\n");
  return { output: { type: failed ? "error-text" : "text", value: text }, below };
}

/** Undefined: this version's results cannot hold it. */
function insideResult(part: FilePart, context: FileContext): AiPart | undefined {
  const mediaType = mediaTypeOf(part);
  const { base64, url } = bytesOf(part, context);
  const named = part.name === undefined ? {} : { filename: part.name };
  if (context.version === "v4") return { ...filePart(part, context) };
  if (context.version === "v2") return base64 === undefined ? undefined : { type: "media", data: base64, mediaType };
  if (url !== undefined) return { type: isImage(mediaType) ? "image-url" : "file-url", url: url.href };
  if (isImage(mediaType)) return { type: "image-data", data: base64, mediaType };
  return { type: "file-data", data: base64, mediaType, ...named };
}

function textIn({ text }: AiPart): string {
  return typeof text === "string" ? text : "";
}

export function textPart(text: string): AiPart {
  return { type: "text", text };
}

export function textsOf(text: string): readonly AiPart[] {
  return isBlank(text) ? [] : [textPart(text.toWellFormed())];
}
