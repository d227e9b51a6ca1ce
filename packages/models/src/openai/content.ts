/** Texts and files as content parts of the Responses API, for messages and for outputs of calls. Pure. */

import type { FilePart, Part, ToolOutput } from "@capstan/core";
import { saidText } from "../diff-text.ts";
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

export const OPENAI = { id: "openai", label: "OpenAI" } as const;

export type Content = { readonly type: string; readonly [name: string]: string };

export type ContentOptions = FileOptions & { readonly blobs: Blobs };

const PDF = "application/pdf";

/** What a user may say of a part; none for parts that are no content. */
export function inputContent(part: Part, options: ContentOptions): readonly Content[] {
  if (part.type === "text") return inputText(part.text);
  return part.type === "file" ? [inputFile(part, options)] : [];
}

export function inputText(text: string): readonly Content[] {
  return isBlank(text) ? [] : [{ type: "input_text", text }];
}

export type CallOutput = {
  readonly output: string | readonly Content[];
  /** What the output could not hold: it follows in a message. */
  readonly below: readonly Content[];
};

/** The wire has no mark for a call that failed, so the text says it. */
export function callOutput(given: ToolOutput, options: ContentOptions): CallOutput {
  const content: Content[] = [];
  const below: Content[] = [];
  for (const part of given.content) {
    if (part.type !== "file") content.push(...inputText(saidText(part)));
    else {
      const file = inputFile(part, options);
      const held = file.type === "input_text" || options.imageInToolResult;
      if (!held) below.push(file);
      content.push(held ? file : { type: "input_text", text: fileMarker(part, FILE_GAPS.below) });
    }
  }
  if (given.content.length === 0 && given.output !== undefined)
    content.push(...inputText(JSON.stringify(given.output)));
  const failed = given.isError === true && !/error/i.test(content[0]?.["text"] ?? "");
  if (failed) content.unshift({ type: "input_text", text: "Error:" });
  const texts = content.flatMap((item) => (item.type === "input_text" ? [item["text"] ?? ""] : []));
  return { output: texts.length === content.length ? texts.join("\n") : content, below };
}

function inputFile(part: FilePart, options: ContentOptions): Content {
  const mediaType = mediaTypeOf(part);
  const url = fileUrl(part, options.blobs);
  if (url === undefined) return marker(part, FILE_GAPS.absent);
  if (isImage(mediaType)) {
    if (!options.images) return marker(part, FILE_GAPS.unreadable);
    refuseTooLarge(OPENAI, part, base64Of(part, options.blobs) ?? "");
    return { type: "input_image", image_url: url, detail: "auto" };
  }
  if (mediaType === PDF && options.files.includes(PDF)) {
    refuseTooLarge(OPENAI, part, base64Of(part, options.blobs) ?? "");
    if (part.data.type === "url") return { type: "input_file", file_url: url };
    return { type: "input_file", filename: part.name ?? "document.pdf", file_data: url };
  }
  if (part.data.type === "url") return marker(part, url);
  const text = fileText(part, options.blobs);
  if (text === undefined) return marker(part, FILE_GAPS.unreadable);
  if (isBlank(text)) return marker(part, FILE_GAPS.empty);
  return { type: "input_text", text: `${fileMarker(part, "its text follows")}\n${text}` };
}

function marker(part: FilePart, why: string): Content {
  return { type: "input_text", text: fileMarker(part, why) };
}
