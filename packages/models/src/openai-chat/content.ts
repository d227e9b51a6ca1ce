/** Texts and files as content parts of chat messages (protocols.md section 2.2). Pure. */

import type { FilePart, ToolOutput } from "@capstan/core";
import { saidText } from "../diff-text.ts";
import type { ProviderName } from "../provider/errors.ts";
import {
  base64Of,
  type Blobs,
  FILE_GAPS,
  fileMarker,
  type FileOptions,
  fileText,
  fileUrl,
  isImage,
  mediaTypeOf,
  refuseTooLarge,
} from "../provider/files.ts";
import { isBlank } from "../wire-text.ts";

export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } }
  | { readonly type: "file"; readonly file: { readonly filename: string; readonly file_data: string } };

export type FileContext = FileOptions & { readonly provider: ProviderName; readonly blobs: Blobs };

const PDF = "application/pdf";

/** Undefined for a text that providers refuse as empty. */
export function textContent(text: string): ContentPart | undefined {
  return isBlank(text) ? undefined : { type: "text", text };
}

/** A file as it is sent, or the text that stands for it. */
export function fileContent(part: FilePart, context: FileContext): ContentPart {
  const mediaType = mediaTypeOf(part);
  const { data } = part;
  if (isImage(mediaType) && context.images) {
    const url = sizedUrl(part, context);
    return url === undefined ? marker(part, FILE_GAPS.absent) : { type: "image_url", image_url: { url } };
  }
  if (data.type === "url") return marker(part, data.url);
  if (mediaType === PDF && context.files.includes(PDF)) {
    const url = sizedUrl(part, context);
    if (url === undefined) return marker(part, FILE_GAPS.absent);
    return { type: "file", file: { filename: part.name ?? "document.pdf", file_data: url } };
  }
  const text = fileText(part, context.blobs);
  if (text === undefined) return marker(part, FILE_GAPS.unreadable);
  if (isBlank(text)) return marker(part, FILE_GAPS.empty);
  return { type: "text", text: part.name === undefined ? text : `${part.name}:\n${text}` };
}

export type ResultContent = {
  readonly content: readonly ContentPart[];
  /** What the result cannot carry: it goes into a message behind the results. */
  readonly below: readonly ContentPart[];
};

/** What a tool gave back. `toolName` is said of the files that follow below. */
export function resultContent(output: ToolOutput, toolName: string, context: FileContext): ResultContent {
  const content: ContentPart[] = [];
  const below: ContentPart[] = [];
  for (const part of output.content) {
    if (part.type !== "file") {
      const text = textContent(saidText(part));
      if (text !== undefined) content.push(text);
      continue;
    }
    const made = fileContent(part, context);
    if (made.type === "text" || (made.type === "image_url" && context.imageInToolResult)) content.push(made);
    else {
      content.push(marker(part, FILE_GAPS.below));
      below.push(marker(part, `from the result of ${toolName}`), made);
    }
  }
  if (output.content.length === 0 && output.output !== undefined) {
    content.push({ type: "text", text: JSON.stringify(output.output) });
  }
  if (content.length === 0) content.push({ type: "text", text: "(no output)" });
  // The protocol has no mark for a call that failed.
  if (output.isError === true) content.unshift({ type: "text", text: "Error:" });
  return { content, below };
}

function marker(part: FilePart, why: string): ContentPart {
  return { type: "text", text: fileMarker(part, why) };
}

function sizedUrl(part: FilePart, context: FileContext): string | undefined {
  const base64 = base64Of(part, context.blobs);
  if (base64 !== undefined) refuseTooLarge(context.provider, part, base64);
  return fileUrl(part, context.blobs);
}
