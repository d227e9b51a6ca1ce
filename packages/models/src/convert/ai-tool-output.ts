/** Outputs of tools in the AI SDK's words (`{ type: "text" | "json" | "content" ... }`) as ours. Pure. */

import { type Json, text, type ToolOutput, textOutput } from "@capstan/core";
import { fileOf } from "./files.ts";
import { isObject, listOf, memberOf, stringOf } from "../provider/json.ts";
import { bytesMember } from "./plain-json.ts";

const DENIED = "The call was denied.";

/** A bare value counts as the value that it is, as older versions store it. */
export function toToolOutput(output: Json): ToolOutput {
  const value = memberOf(output, "value") ?? null;
  switch (memberOf(output, "type")) {
    case "text":
      return textOutput(asText(value));
    case "json":
      return jsonOutput(value);
    case "error-text":
    case "error-json":
      return textOutput(asText(value), { isError: true });
    case "execution-denied":
      return textOutput(stringOf(memberOf(output, "reason")) || DENIED, { isError: true });
    case "content":
      return { content: listOf(value).flatMap((item) => contentOf(item)) };
    default:
      return typeof output === "string" ? textOutput(output) : jsonOutput(output);
  }
}

/** Text for the model, the value for programs. */
export function jsonOutput(value: Json): ToolOutput {
  return { ...textOutput(JSON.stringify(value)), output: value };
}

function contentOf(item: Json): ToolOutput["content"] {
  if (!isObject(item)) return [];
  const { type, text: said, mediaType, filename } = item;
  if (type === "text") return [text(stringOf(said))];
  // file-data, image-data, media hold `data`; file-url, image-url hold `url`
  const bytes = bytesMember(item["data"] ?? item["url"]);
  if (bytes.base64 === undefined && bytes.url === undefined) return [];
  const guess = stringOf(type).startsWith("image") ? "image/*" : "application/octet-stream";
  const { part, gap } = fileOf({ ...bytes, mediaType: stringOf(mediaType) || guess, name: stringOf(filename) });
  return [part ?? text(gap)];
}

function asText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
