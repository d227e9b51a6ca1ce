/** ACP content and Capstan's parts, both ways. */

import type { DiffPart, FilePart, Part, TextPart, ToolOutput } from "@capstan/core";
import { ACP_WIRE_LIMITS as LIMITS, within } from "./acp-limits.ts";
import type { AcpContentBlock, AcpResource, AcpToolContent } from "./acp-wire.ts";

const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** Kinds of files that models take. */
const FILES = /^(?:image\/|application\/pdf$)/;

/** What an editor puts into a prompt, as an input of a session. Throws an `Error` that says which block is none. */
export function partsOfAcpPrompt(blocks: readonly AcpContentBlock[]): readonly Part[] {
  return blocks.map((block, index) => partOf(block, `prompt[${index}]`));
}

function partOf(block: AcpContentBlock, where: string): TextPart | FilePart {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
      return fileOf(block.mimeType, block.data, nameOf(block.uri ?? undefined), where);
    case "audio":
      return fileOf(block.mimeType, block.data, undefined, where);
    case "resource_link":
      return { type: "text", text: `[${inert(block.title ?? block.name)}](${inert(block.uri)})` };
    case "resource":
      return ofResource(block.resource, where);
    default:
      block satisfies never;
      throw new Error(`${where} is of a type that is not known here`);
  }
}

function ofResource(resource: AcpResource, where: string): TextPart | FilePart {
  const uri = inert(resource.uri);
  if ("text" in resource) return { type: "text", text: `<resource uri="${uri}">\n${resource.text}\n</resource>` };
  const mediaType = (resource.mimeType ?? "application/octet-stream").toLowerCase();
  if (FILES.test(mediaType)) return fileOf(mediaType, resource.blob, nameOf(resource.uri), where);
  return { type: "text", text: `<resource uri="${uri}">(${mediaType}, not shown)</resource>` };
}

function fileOf(mimeType: string, data: string, name: string | undefined, where: string): FilePart {
  const mediaType = mimeType.toLowerCase().split(";", 1)[0]?.trim() ?? "";
  if (!MEDIA_TYPE.test(mediaType)) throw new Error(`${where} has no media type`);
  if (data === "" || !BASE64.test(data)) throw new Error(`${where} holds no base64`);
  return { type: "file", mediaType, data: { type: "base64", base64: data }, ...(name !== undefined && { name }) };
}

/** One line that closes no frame of ours. */
function inert(text: string): string {
  return text
    .replaceAll(/[\p{Cc}"<>]+/gu, " ")
    .slice(0, LIMITS.titleCharacters)
    .toWellFormed();
}

function nameOf(uri: string | undefined): string | undefined {
  const last = uri
    ?.split(/[?#]/, 1)[0]
    ?.split("/")
    .findLast((piece) => piece !== "");
  return last === undefined ? undefined : inert(last).slice(0, 255).toWellFormed();
}

/** What a person said, to be shown again. Calls, results and seals are none of it. */
export function acpBlocksOf(parts: readonly Part[]): readonly AcpContentBlock[] {
  return parts.flatMap((part): readonly AcpContentBlock[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    return part.type === "file" ? [blockOfFile(part)] : [];
  });
}

/** A tool's output as an editor shows it. `absolute` makes a path of the session's folder an absolute one. */
export function acpContentOf({ content }: ToolOutput, absolute: (path: string) => string): readonly AcpToolContent[] {
  return content.map((part): AcpToolContent => {
    if (part.type === "diff") return diffOf(part, absolute);
    const block = part.type === "text" ? textBlock(part.text) : blockOfFile(part);
    return { type: "content", content: block };
  });
}

function diffOf({ path, before, after }: DiffPart, absolute: (path: string) => string): AcpToolContent {
  if ((before?.length ?? 0) + after.length > LIMITS.diffCharacters)
    return { type: "content", content: textBlock(`(a change of ${path} that is too long to show)`) };
  return { type: "diff", path: absolute(path), oldText: before ?? null, newText: after };
}

function textBlock(text: string): AcpContentBlock {
  return { type: "text", text: within(text, LIMITS.contentCharacters) };
}

function blockOfFile({ mediaType, data, name }: FilePart): AcpContentBlock {
  if (data.type === "url") return { type: "resource_link", uri: data.url, name: name ?? data.url, mimeType: mediaType };
  if (data.type === "base64" && mediaType.startsWith("image/"))
    return { type: "image", data: data.base64, mimeType: mediaType };
  const size = data.type === "blob" ? data.size : Math.floor((data.base64.length * 3) / 4);
  return { type: "text", text: `(${name ?? "a file"}, ${mediaType}, ${size} bytes)` };
}
