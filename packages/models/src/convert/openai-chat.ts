/** Messages of OpenAI chat completions (protocols.md section 2.2) and ours. Pure. */

import {
  type FilePart,
  type Json,
  type Message,
  type Part,
  text,
  textOf,
  type TextPart,
  textOutput,
  type ToolOutput,
} from "@capstan/core";
import { saidText } from "../diff-text.ts";
import { FILE_GAPS, fileMarker, fileText, fileUrl, isImage, mediaTypeOf } from "../provider/files.ts";
import { type JsonObject, listOf, memberOf, parsedInput, stringOf } from "../provider/json.ts";
import { isBlank } from "../wire-text.ts";
import { type Draft, type Note, resultOf } from "./draft.ts";
import { dataUrlType, readFile } from "./files.ts";
import { bytesMember } from "./plain-json.ts";
import { wireId } from "./wire-id.ts";

export function readOpenAiChat(message: JsonObject, note: Note): readonly Omit<Draft, "at">[] {
  const { role, content, name } = message;
  switch (role) {
    case "system":
    case "developer":
      return [{ role: "system", parts: readContent(content, note) }];
    case "user":
      return [{ role, parts: readContent(content, note) }];
    case "assistant":
      return [{ role, parts: readAssistant(message, note) }];
    case "tool":
      return [{ role: "user", parts: [resultOf(stringOf(message["tool_call_id"]), readResult(content, note))] }];
    case "function":
      return [{ role: "user", parts: [resultOf(functionId(name), readResult(content, note))] }];
    default:
      note("role-unknown", `a message of role ${JSON.stringify(role ?? null)}`);
      return [];
  }
}

/** Calls of the old form have no id: the name pairs them. */
function functionId(name: Json | undefined): string {
  return `function_${stringOf(name)}`;
}

function readAssistant(message: JsonObject, note: Note): readonly Part[] {
  const { content, refusal, function_call: old } = message;
  const thought = stringOf(message["reasoning_content"]) || stringOf(message["reasoning"]);
  const calls = listOf(message["tool_calls"]).flatMap((call) => readCall(call, note));
  return [
    { type: "reasoning", text: thought },
    ...readContent(content, note),
    text(stringOf(refusal)),
    ...(old === undefined || old === null
      ? []
      : [callOf(functionId(memberOf(old, "name")), memberOf(old, "name"), memberOf(old, "arguments"))]),
    ...calls,
  ];
}

function readCall(call: Json, note: Note): readonly Part[] {
  const custom = memberOf(call, "custom");
  const asked = memberOf(call, "function") ?? custom;
  if (asked === undefined) {
    note("part-unknown", `a call of type ${stringOf(memberOf(call, "type")) || "none"}`);
    return [];
  }
  return [
    callOf(
      stringOf(memberOf(call, "id")),
      memberOf(asked, "name"),
      memberOf(asked, "arguments") ?? memberOf(asked, "input"),
    ),
  ];
}

function callOf(callId: string, name: Json | undefined, input: Json | undefined): Part {
  // some servers send the arguments parsed
  const parsed = typeof input === "string" ? parsedInput(input) : (input ?? {});
  return { type: "tool-call", callId, name: stringOf(name), input: parsed, by: "capstan" };
}

function readContent(content: Json | undefined, note: Note): readonly (TextPart | FilePart)[] {
  if (typeof content === "string") return [text(content)];
  return listOf(content).flatMap((part) => {
    const type = stringOf(memberOf(part, "type"));
    switch (type) {
      case "text":
      case "refusal":
        return [text(stringOf(memberOf(part, type)))];
      case "image_url": {
        const image = memberOf(part, "image_url");
        return [readUrl(typeof image === "string" ? image : memberOf(image, "url"), "", note)];
      }
      case "file":
        return [
          readUrl(memberOf(memberOf(part, "file"), "file_data"), memberOf(memberOf(part, "file"), "filename"), note),
        ];
      case "input_audio": {
        const [data, format] = ["data", "format"].map((member) => memberOf(memberOf(part, "input_audio"), member));
        return [readUrl(`data:audio/${stringOf(format)};base64,${stringOf(data)}`, "", note)];
      }
      default:
        note("part-unknown", `a part of type ${type || "none"}`);
        return [];
    }
  });
}

function readUrl(url: Json | undefined, name: Json | undefined, note: Note): TextPart | FilePart {
  return readFile({ ...bytesMember(url), mediaType: dataUrlType(url), name: stringOf(name) }, note);
}

function readResult(content: Json | undefined, note: Note): ToolOutput {
  if (typeof content === "string") return textOutput(content);
  return { content: readContent(content, note) };
}

export function writeOpenAiChat(messages: readonly Message[]): readonly JsonObject[] {
  return messages.flatMap((message): readonly JsonObject[] => {
    if (message.role === "assistant") return writeAssistant(message);
    if (message.role === "system") {
      const said = textOf(message.parts);
      return isBlank(said) ? [] : [{ role: "system", content: said }];
    }
    return writeUser(message);
  });
}

function writeAssistant({ parts }: Message): readonly JsonObject[] {
  const said = parts
    .map((part) => (part.type === "file" ? fileMarker(part, FILE_GAPS.unreadable) : textOf([part])))
    .filter((line) => !isBlank(line))
    .join("\n");
  const calls = parts.flatMap((part) => {
    if (part.type !== "tool-call" || part.by === "provider") return [];
    const args = typeof part.input === "string" ? part.input : JSON.stringify(part.input);
    return [{ id: wireId(part.callId), type: "function", function: { name: part.name, arguments: args } }];
  });
  if (said === "" && calls.length === 0) return [];
  return [{ role: "assistant", content: said === "" ? null : said, ...(calls.length > 0 && { tool_calls: calls }) }];
}

/** Results are messages of their own; what they cannot hold follows them. */
function writeUser({ parts }: Message): readonly JsonObject[] {
  const results: JsonObject[] = [];
  const content: JsonObject[] = [];
  for (const part of parts) {
    if (part.type !== "tool-result") continue;
    const said = part.output.content.map((item) => {
      if (item.type !== "file") return saidText(item);
      content.push(...writeContent(item));
      return fileMarker(item, FILE_GAPS.below);
    });
    const value = part.output.content.length === 0 ? part.output.output : undefined;
    const told = value === undefined ? said.join("\n") : JSON.stringify(value);
    results.push({ role: "tool", tool_call_id: wireId(part.callId), content: told });
  }
  for (const part of parts) if (part.type === "text" || part.type === "file") content.push(...writeContent(part));
  const [first] = content;
  if (first === undefined) return results;
  const plain = content.length === 1 && first["type"] === "text" ? first["text"] : undefined;
  return [...results, { role: "user", content: plain ?? content }];
}

function writeContent(part: TextPart | FilePart): readonly JsonObject[] {
  if (part.type === "text") return isBlank(part.text) ? [] : [{ type: "text", text: part.text }];
  const blobs = new Map<string, string>();
  const url = fileUrl(part, blobs);
  if (url === undefined) return [{ type: "text", text: fileMarker(part, FILE_GAPS.absent) }];
  if (isImage(mediaTypeOf(part))) return [{ type: "image_url", image_url: { url } }];
  const content = fileText(part, blobs);
  if (content !== undefined) return [{ type: "text", text: `${fileMarker(part, "its text")}\n${content}` }];
  if (part.data.type === "url") return [{ type: "text", text: fileMarker(part, url) }];
  return [{ type: "file", file: { filename: part.name ?? "file", file_data: url } }];
}
