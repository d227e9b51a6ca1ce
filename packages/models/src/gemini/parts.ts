/** Parts of messages as parts of Gemini's contents (protocols.md section 3), each one as JSON text. Pure. */

import type { FilePart, Json, Message, Part, Seal, ToolCallPart, ToolResultPart } from "@capstan/core";
import { saidText } from "../diff-text.ts";
import { inputOf } from "../provider/call.ts";
import type { EncodeContext } from "../provider/encoded-messages.ts";
import {
  base64Of,
  FILE_GAPS,
  fileMarker,
  type FileOptions,
  fileText,
  isText,
  mediaTypeOf,
  refuseTooLarge,
} from "../provider/files.ts";
import { isObject, memberOf } from "../provider/json.ts";
import { systemText } from "../provider/system-text.ts";
import { isBlank, wireJson } from "../wire-text.ts";
import { GEMINI, isOwn, signatureOf, type Signed } from "./signature.ts";

export type PartOptions = FileOptions & {
  /** Signatures of another model are not sent. */
  readonly modelId: string;
  /** Whether the model refuses calls whose signature is missing. */
  readonly checksSignatures: boolean;
};

/** Results of calls come first in a content: what answers a call must follow it at once. */
export type EncodedParts = { readonly results: readonly string[]; readonly others: readonly string[] };

/** Documented by Google for calls that another model made: it takes the place of a signature that nobody has. */
export const NO_SIGNATURE = "skip_thought_signature_validator";

export const IMAGES: readonly string[] = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
/** What function responses take beside text. */
const RESULT_MEDIA: readonly string[] = ["image/png", "image/jpeg", "image/webp", "application/pdf"];

export function encodeParts(message: Message, context: EncodeContext, options: PartOptions): EncodedParts {
  if (message.role === "system") return { results: [], others: systemItem(message) };
  const results: string[] = [];
  const others: string[] = [];
  let calls = 0;
  for (const [index, part] of message.parts.entries()) {
    if (part.type === "tool-result") encodeResult(part, context, options, results, others);
    else if (part.type === "tool-call") {
      if (part.by !== "provider") others.push(encodeCall(part, context, options, calls++ === 0));
    } else others.push(...encodePart(part, message.parts[index - 1], message.parts[index + 1], context, options));
  }
  return { results, others };
}

function systemItem(message: Message): readonly string[] {
  const text = systemText(message);
  return text === "" ? [] : [textItem(text)];
}

function encodePart(
  part: Exclude<Part, ToolCallPart | ToolResultPart>,
  before: Part | undefined,
  after: Part | undefined,
  context: EncodeContext,
  options: PartOptions,
): readonly string[] {
  switch (part.type) {
    case "text": {
      const signature = after?.type === "opaque" ? signatureOf(after.seal, options.modelId) : undefined;
      if (signature !== undefined && signature.of !== "file") return signedText(part.text, signature);
      return isBlank(part.text) ? [] : [textItem(part.text)];
    }
    case "reasoning": {
      // A thought without its signature tells the model nothing and costs tokens.
      const signature = part.seal === undefined ? undefined : signatureOf(part.seal, options.modelId);
      return signature === undefined ? [] : signedText(part.text, signature, { thought: true });
    }
    case "file":
      return [encodeFile(part, after, context, options)];
    case "source":
      return [];
    case "opaque":
      return encodeOpaque(part.seal, before, options.modelId);
    default:
      return part satisfies never;
  }
}

/** As it came: what the signature did not come with goes before it, in a part of its own. */
function signedText(text: string, { signature, tail }: Signed, more: { readonly thought?: true } = {}): string[] {
  const cut = Math.max(0, text.length - tail);
  const head = text.slice(0, cut);
  const signed = wireJson({ text: text.slice(cut), ...more, thoughtSignature: signature });
  return head === "" ? [signed] : [wireJson({ text: head, ...more }), signed];
}

function encodeOpaque(seal: Seal, before: Part | undefined, modelId: string): readonly string[] {
  if (!isOwn(seal, modelId)) return [];
  const part = memberOf(seal.data, "part");
  if (isObject(part)) return [wireJson(part)];
  const signature = signatureOf(seal, modelId);
  // The part before it has taken it along, or the file that it belongs to is not sent.
  if (signature === undefined || before?.type === "text" || signature.of === "file") return [];
  return signedText("", signature);
}

function encodeCall(part: ToolCallPart, context: EncodeContext, options: PartOptions, first: boolean): string {
  const own = part.seal === undefined ? undefined : signatureOf(part.seal, options.modelId)?.signature;
  const signature = own ?? (first && options.checksSignatures ? NO_SIGNATURE : undefined);
  return wireJson({
    functionCall: { id: context.idOfCall(part), name: part.name, args: inputOf(part) },
    ...(signature !== undefined && { thoughtSignature: signature }),
  });
}

function encodeResult(
  part: ToolResultPart,
  context: EncodeContext,
  options: PartOptions,
  results: string[],
  others: string[],
): void {
  const { output } = part;
  const texts: string[] = [];
  const media: Json[] = [];
  for (const item of output.content) {
    if (item.type !== "file") {
      texts.push(saidText(item));
      continue;
    }
    const sent = fileItem(item, context, options);
    if (typeof sent === "string") texts.push(sent);
    else if (options.imageInToolResult && "inlineData" in sent && RESULT_MEDIA.includes(mediaTypeOf(item)))
      media.push(sent);
    else {
      texts.push(fileMarker(item, FILE_GAPS.below));
      others.push(textItem(`[File of the result of ${part.name}]`), wireJson(sent));
    }
  }
  const text = texts.join("\n");
  const said = output.content.length === 0 && output.output !== undefined ? output.output : text;
  results.push(
    wireJson({
      functionResponse: {
        id: context.idOfResult(part.callId),
        name: part.name,
        response: output.isError === true ? { error: said } : { output: said },
        ...(media.length > 0 && { parts: media }),
      },
    }),
  );
}

function encodeFile(part: FilePart, after: Part | undefined, context: EncodeContext, options: PartOptions): string {
  const item = fileItem(part, context, options);
  if (typeof item === "string") return textItem(item);
  const signature = after?.type === "opaque" ? signatureOf(after.seal, options.modelId) : undefined;
  return wireJson(signature?.of !== "file" ? item : { ...item, thoughtSignature: signature.signature });
}

/** The part that carries a file, or the text that stands for it. */
function fileItem(
  part: FilePart,
  { blobs }: EncodeContext,
  options: PartOptions,
): string | { readonly [name: string]: Json } {
  const mediaType = mediaTypeOf(part);
  const { data } = part;
  if (isText(mediaType) && data.type !== "url") {
    const text = fileText(part, blobs);
    if (text === undefined) return fileMarker(part, FILE_GAPS.absent);
    return isBlank(text) ? fileMarker(part, FILE_GAPS.empty) : `${part.name ?? mediaType}:\n${text}`;
  }
  const taken = mediaType.startsWith("image/")
    ? options.images && IMAGES.includes(mediaType)
    : options.files.includes(mediaType);
  if (!taken) return fileMarker(part, data.type === "url" ? data.url : FILE_GAPS.unreadable);
  if (data.type === "url") return { fileData: { mimeType: mediaType, fileUri: data.url } };
  const base64 = base64Of(part, blobs);
  if (base64 === undefined) return fileMarker(part, FILE_GAPS.absent);
  refuseTooLarge(GEMINI, part, base64);
  return { inlineData: { mimeType: mediaType, data: base64 } };
}

function textItem(text: string): string {
  return wireJson({ text });
}
