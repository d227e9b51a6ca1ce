/** What a remote agent gave, as the output of a tool: its texts, its data as JSON, its files. */

import type { FilePart, TextPart, ToolOutput } from "@capstan/core";
import { A2A_LIMITS as LIMITS } from "./limits.ts";
import type { RemotePart } from "./wire.ts";

const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Files that only have an address are named, not fetched: the address is the other side's word. */
export function toRemoteOutput(parts: readonly RemotePart[]): ToolOutput {
  const files = parts.flatMap((part) => fileOf(part) ?? []).slice(0, LIMITS.files);
  const text = textOfParts(parts);
  if (text === "" && files.length === 0) return { content: [{ type: "text", text: "It answered with nothing." }] };
  const said: readonly TextPart[] = text === "" ? [] : [{ type: "text", text }];
  return { content: [...said, ...files] };
}

/** All that can be said in words. */
export function textOfParts(parts: readonly RemotePart[]): string {
  return parts
    .map((part) => {
      if (part.type === "text") return part.text.toWellFormed();
      if (part.type === "data") return JSON.stringify(part.data);
      if (fileOf(part) !== undefined) return "";
      const what = [part.name, part.mediaType, part.url].filter((word) => word !== undefined).join(", ");
      return `(a file: ${what.slice(0, LIMITS.saidCharacters).toWellFormed()})`;
    })
    .filter((text) => text !== "")
    .join("\n\n");
}

function fileOf(part: RemotePart): FilePart | undefined {
  if (part.type !== "file" || part.base64 === undefined) return undefined;
  const base64 = part.base64.replaceAll("-", "+").replaceAll("_", "/"); // protobuf's JSON may use the other alphabet
  const mediaType = part.mediaType.toLowerCase().split(";", 1)[0]?.trim() ?? "";
  if (!BASE64.test(base64) || !MEDIA_TYPE.test(mediaType)) return undefined;
  return {
    type: "file",
    mediaType,
    data: { type: "base64", base64 },
    ...(part.name !== undefined && { name: part.name.slice(0, 255).toWellFormed() }),
  };
}
