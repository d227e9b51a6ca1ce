/** Messages of our own format that came from outside: every part is looked at, what does not fit is left out. Pure. */

import type { Json, Message, Part, Seal, ToolOutput } from "@capstan/core";
import { isObject, type JsonObject, listOf, memberOf, objectOf, stringOf } from "../provider/json.ts";
import { isServerBlock } from "./anthropic.ts";
import { type Draft, type Note, roleOf } from "./draft.ts";
import { readFile } from "./files.ts";

export function readOwn(message: JsonObject, note: Note): readonly Omit<Draft, "at">[] {
  const { id, parts, labels } = message;
  const role = roleOf(message["role"], note);
  if (role === undefined) return [];
  const strings = listOf(labels).filter((label) => typeof label === "string");
  return [
    {
      role,
      parts: listOf(parts).flatMap((part) => readPart(part, note)),
      ...(typeof id === "string" && id !== "" && { id }),
      ...(strings.length > 0 && { labels: strings }),
    },
  ];
}

function readPart(part: Json, note: Note): readonly Part[] {
  const read = isObject(part) ? knownPart(part, note) : undefined;
  if (read === undefined) note("part-unknown", `a part of type ${stringOf(memberOf(part, "type")) || "none"}`);
  return read === undefined ? [] : [read];
}

function knownPart(part: JsonObject, note: Note): Part | undefined {
  const { type, text, callId, name, id, url, title } = part;
  const seal = sealOf(part["seal"]);
  switch (type) {
    case "text":
      return typeof text === "string" ? { type, text } : undefined;
    case "reasoning":
      return typeof text === "string" ? { type, text, ...(seal !== undefined && { seal }) } : undefined;
    case "file":
      return readOwnFile(part, note);
    case "tool-call": {
      const by = part["by"] === "provider" || part["by"] === "client" ? part["by"] : "capstan";
      const sealed = seal === undefined ? {} : { seal };
      if (typeof callId !== "string") return undefined;
      return { type, callId, name: stringOf(name), input: part["input"] ?? {}, by, ...sealed };
    }
    case "tool-result":
      if (typeof callId !== "string") return undefined;
      return { type, callId, name: stringOf(name), output: readOutput(part["output"], note) };
    case "source":
      if (typeof id !== "string") return undefined;
      return { type, id, ...(typeof url === "string" && { url }), ...(typeof title === "string" && { title }) };
    case "opaque":
      return seal === undefined || !isWhole(seal) ? undefined : { type, seal };
    default:
      return undefined;
  }
}

function sealOf(seal: Json | undefined): Seal | undefined {
  const { provider, data } = objectOf(seal);
  return typeof provider === "string" && data !== undefined ? { provider, data } : undefined;
}

/** Opaque parts go to their provider as they are: a call or a text in their clothes would not be paired or checked. */
function isWhole(seal: Seal): boolean {
  return seal.provider !== "anthropic" || isServerBlock(seal.data);
}

function readOwnFile(part: JsonObject, note: Note): Part {
  const { data } = part;
  const [mediaType, name] = [stringOf(part["mediaType"]), stringOf(part["name"])];
  const [type, hash, size] = ["type", "hash", "size"].map((member) => memberOf(data, member));
  if (type === "blob" && typeof hash === "string" && typeof size === "number") {
    return { type: "file", mediaType, data: { type, hash, size }, ...(name !== "" && { name }) };
  }
  const bytes =
    type === "url" ? { url: stringOf(memberOf(data, "url")) } : { base64: stringOf(memberOf(data, "base64")) };
  return readFile({ ...bytes, mediaType, name }, note);
}

/** The output of a call that stands elsewhere; what does not fit is left out in silence. */
export function readOwnOutput(output: Json): ToolOutput {
  return readOutput(output, () => {});
}

function readOutput(output: Json | undefined, note: Note): ToolOutput {
  const given = objectOf(output);
  const content = listOf(given["content"]).flatMap((item): ToolOutput["content"] => {
    if (memberOf(item, "type") === "diff") return readDiff(objectOf(item));
    const part = memberOf(item, "type") === "opaque" ? undefined : readPart(item, note)[0];
    return part?.type === "text" || part?.type === "file" ? [part] : [];
  });
  const labels = listOf(given["labels"]).filter((label) => typeof label === "string");
  return {
    content,
    ...(given["output"] !== undefined && { output: given["output"] }),
    ...(given["isError"] === true && { isError: true }),
    ...(given["truncated"] === true && { truncated: true }),
    ...(labels.length > 0 && { labels }),
  };
}

function readDiff(item: JsonObject): ToolOutput["content"] {
  const { path, before, after } = item;
  if (typeof path !== "string" || typeof after !== "string") return [];
  return [{ type: "diff", path, after, ...(typeof before === "string" && { before }) }];
}

/** Our messages are what they are. */
export function writeOwn(messages: readonly Message[]): readonly JsonObject[] {
  return messages as unknown as readonly JsonObject[]; // messages are JSON by their type
}
