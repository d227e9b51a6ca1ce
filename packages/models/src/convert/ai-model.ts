/** `ModelMessage`s of the AI SDK and ours. Pure. */

import { type Json, type Message, type Part, text, textOf, type ToolOutput } from "@capstan/core";
import { saidText } from "../diff-text.ts";
import { base64Of, FILE_GAPS, fileMarker, isImage, mediaTypeOf } from "../provider/files.ts";
import { isObject, type JsonObject, listOf, memberOf, stringOf } from "../provider/json.ts";
import { isBlank } from "../wire-text.ts";
import { isMetadata, isModelExtra } from "./ai-extras.ts";
import { toToolOutput } from "./ai-tool-output.ts";
import { type Draft, type Note, resultOf, roleOf } from "./draft.ts";
import { dataUrlType, readFile } from "./files.ts";
import { bytesMember } from "./plain-json.ts";

/** Names the seals of parts that only this format can say. */
const FORMAT = "ai-sdk";

export function readAiModel(message: JsonObject, note: Note): readonly Omit<Draft, "at">[] {
  const { id, role, content } = message;
  // calls that the provider runs itself have their results in the same message
  const theirs = new Set(
    listOf(content).flatMap((part) =>
      memberOf(part, "providerExecuted") === true ? [stringOf(memberOf(part, "toolCallId"))] : [],
    ),
  );
  const parts =
    typeof content === "string" ? [text(content)] : listOf(content).flatMap((part) => readPart(part, theirs, note));
  const named = typeof id === "string" ? { id } : {};
  if (role === "tool") return parts.length === 0 ? [] : [{ role: "user", parts, ...named }];
  const known = roleOf(role, note);
  return known === undefined ? [] : [{ role: known, parts, ...named }];
}

function readPart(part: Json, theirs: ReadonlySet<string>, note: Note): readonly Part[] {
  const type = stringOf(memberOf(part, "type"));
  if (isModelExtra(part) && (type !== "tool-result" || theirs.has(stringOf(memberOf(part, "toolCallId"))))) {
    return [opaque(part)];
  }
  switch (isObject(part) ? type : "") {
    case "text":
      return [text(stringOf(memberOf(part, "text")))];
    case "reasoning": {
      const metadata = memberOf(part, "providerOptions");
      const seal = metadata !== undefined && isMetadata(metadata) ? { seal: { provider: FORMAT, data: metadata } } : {};
      return [{ type: "reasoning", text: stringOf(memberOf(part, "text")), ...seal }];
    }
    case "file":
    case "image":
      return [readForeignFile(part, note)];
    case "tool-call":
      return [readCall(part)];
    case "tool-result":
      return [readResult(part)];
    case "tool-approval-request":
    case "tool-approval-response":
      return []; // the call and its result say what came of it
    default:
      note("part-unknown", `a part of type ${type || "none"}`);
      return [];
  }
}

function opaque(part: Json): Part {
  return { type: "opaque", seal: { provider: FORMAT, data: part } };
}

function readCall(part: Json): Part {
  const [callId, name] = ["toolCallId", "toolName"].map((member) => stringOf(memberOf(part, member)));
  const input = memberOf(part, "input") ?? memberOf(part, "args") ?? {};
  return { type: "tool-call", callId: callId ?? "", name: name ?? "", input, by: "capstan" };
}

function readResult(part: Json): Part {
  const [callId, name] = ["toolCallId", "toolName"].map((member) => stringOf(memberOf(part, member)));
  return resultOf(callId ?? "", toToolOutput(memberOf(part, "output") ?? memberOf(part, "result") ?? null), name);
}

function readForeignFile(part: Json, note: Note): Part {
  const data = memberOf(part, "data") ?? memberOf(part, "image");
  const mediaType = stringOf(memberOf(part, "mediaType")) || dataUrlType(data);
  return readFile({ ...bytesMember(data), mediaType, name: stringOf(memberOf(part, "filename")) }, note);
}

export function writeAiModel(messages: readonly Message[]): readonly JsonObject[] {
  return messages.flatMap((message): readonly JsonObject[] => {
    if (message.role === "system") {
      const said = textOf(message.parts);
      return isBlank(said) ? [] : [{ role: "system", content: said }];
    }
    const results = message.parts.flatMap((part) => (part.type === "tool-result" ? [writeResult(part)] : []));
    const content = message.parts.flatMap((part) => writePart(part));
    return [
      ...(results.length === 0 ? [] : [{ role: "tool", content: results }]),
      ...(content.length === 0 ? [] : [{ role: message.role, content }]),
    ];
  });
}

function writePart(part: Part): readonly JsonObject[] {
  switch (part.type) {
    case "text":
      return isBlank(part.text) ? [] : [{ type: "text", text: part.text }];
    case "reasoning": {
      const data = part.seal?.provider === FORMAT && isMetadata(part.seal.data) ? part.seal.data : undefined;
      return [{ type: "reasoning", text: part.text, ...(data !== undefined && { providerOptions: data }) }];
    }
    case "file":
      return [writeFile(part)];
    case "tool-call":
      if (part.by === "provider") return []; // only the provider that ran it can take it back
      return [{ type: "tool-call", toolCallId: part.callId, toolName: part.name, input: part.input }];
    case "opaque":
      return part.seal.provider === FORMAT && isModelExtra(part.seal.data) ? [part.seal.data as JsonObject] : [];
    case "tool-result":
    case "source":
      return [];
    default:
      return part satisfies never;
  }
}

function writeFile(part: Extract<Part, { type: "file" }>): JsonObject {
  const named = { mediaType: mediaTypeOf(part), ...(part.name !== undefined && { filename: part.name }) };
  if (part.data.type === "url") return { type: "file", data: part.data.url, ...named };
  const data = base64Of(part, new Map());
  return data === undefined ? text(fileMarker(part, FILE_GAPS.absent)) : { type: "file", data, ...named };
}

function writeResult(part: Extract<Part, { type: "tool-result" }>): JsonObject {
  return { type: "tool-result", toolCallId: part.callId, toolName: part.name, output: writeOutput(part.output) };
}

function writeOutput(output: ToolOutput): JsonObject {
  const said = output.content.flatMap((item) => (item.type === "file" ? [] : [saidText(item)]));
  if (output.isError === true) return { type: "error-text", value: said.join("\n") };
  if (output.output !== undefined && said.length === output.content.length)
    return { type: "json", value: output.output };
  if (said.length === output.content.length) return { type: "text", value: said.join("\n") };
  const value = output.content.map((item): JsonObject => {
    if (item.type !== "file") return { type: "text", text: saidText(item) };
    const mediaType = mediaTypeOf(item);
    const kind = isImage(mediaType) ? "image" : "file";
    if (item.data.type === "url") return { type: `${kind}-url`, url: item.data.url };
    const data = base64Of(item, new Map());
    return data === undefined ? text(fileMarker(item, FILE_GAPS.absent)) : { type: `${kind}-data`, data, mediaType };
  });
  return { type: "content", value };
}
