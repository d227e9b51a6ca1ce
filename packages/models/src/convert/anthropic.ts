/** Messages of the Anthropic Messages API (protocols.md section 1.2) and ours. Pure. */

import { type FilePart, type Json, type Message, type Part, text, type TextPart, type ToolOutput } from "@capstan/core";
import { ANTHROPIC, inAnswer, toBlock } from "../anthropic/blocks.ts";
import { isObject, type JsonObject, listOf, memberOf, parseJson, stringOf } from "../provider/json.ts";
import { systemText } from "../provider/system-text.ts";
import { isBlank } from "../wire-text.ts";
import { type Draft, type Note, resultOf, roleOf } from "./draft.ts";
import { readFile } from "./files.ts";
import { wireId } from "./wire-id.ts";

export function readAnthropic(message: JsonObject, note: Note): readonly Omit<Draft, "at">[] {
  const { id, content, model } = message;
  const role = roleOf(message["role"], note);
  if (role === undefined) return [];
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  const parts = blocks.flatMap((block) => readBlock(block, stringOf(model), note));
  return [{ role, parts, ...(typeof id === "string" && { id }) }];
}

/** `model`: whose thinking it is; answers that were stored whole name it. */
function readBlock(block: Json, model: string, note: Note): readonly Part[] {
  const type = stringOf(memberOf(block, "type"));
  switch (isObject(block) ? type : "") {
    case "text":
      return [text(stringOf(memberOf(block, "text")))];
    case "thinking": {
      const signature = stringOf(memberOf(block, "signature"));
      const seal = signature === "" ? {} : { seal: { provider: ANTHROPIC.id, data: { signature, model } } };
      return [{ type: "reasoning", text: stringOf(memberOf(block, "thinking")), ...seal }];
    }
    case "redacted_thinking": {
      const data = { redacted: stringOf(memberOf(block, "data")), model };
      return [{ type: "reasoning", text: "", seal: { provider: ANTHROPIC.id, data } }];
    }
    case "image":
    case "document":
      return [readSource(block, note)];
    case "tool_use":
      return [readCall(block)];
    case "tool_result":
      return [resultOf(stringOf(memberOf(block, "tool_use_id")), readResult(block, note))];
    default:
      if (isServerBlock(block))
        return [{ type: "opaque", seal: { provider: ANTHROPIC.id, data: withoutMarker(block) } }];
      note("part-unknown", `a block of type ${type || "none"}`);
      return [];
  }
}

const SERVER_BLOCK =
  /^(server_tool_use|mcp_tool_use|mcp_tool_listing|compaction|container_upload|[a-z_]+_tool_result)$/;

/** A block that only the provider can read: a call of its own tools, or what came of it. */
export function isServerBlock(block: Json): boolean {
  return isObject(block) && SERVER_BLOCK.test(stringOf(block["type"]));
}

function withoutMarker(block: Json): Json {
  const { cache_control: _marker, ...rest } = block as JsonObject; // isServerBlock has looked
  return rest;
}

function readCall(block: Json): Part {
  const id = stringOf(memberOf(block, "id"));
  return {
    type: "tool-call",
    callId: id,
    name: stringOf(memberOf(block, "name")),
    input: memberOf(block, "input") ?? {},
    by: "capstan",
    seal: { provider: ANTHROPIC.id, data: { id } },
  };
}

function readResult(block: Json, note: Note): ToolOutput {
  const content = memberOf(block, "content");
  const items = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  const parts = items.flatMap((item): ToolOutput["content"] => {
    const type = memberOf(item, "type");
    if (type === "text") return [text(stringOf(memberOf(item, "text")))];
    if (type === "image" || type === "document") return [readSource(item, note)];
    note("part-unknown", `a block of type ${stringOf(type) || "none"} in a result`);
    return [];
  });
  return { content: parts, ...(memberOf(block, "is_error") === true && { isError: true }) };
}

function readSource(block: Json, note: Note): FilePart | TextPart {
  const source = memberOf(block, "source");
  const [type, data, url, mediaType] = ["type", "data", "url", "media_type"].map((name) =>
    stringOf(memberOf(source, name)),
  );
  const name = stringOf(memberOf(block, "title"));
  if (type === "content") return text(textOfBlocks(memberOf(source, "content")));
  const plain = type === "text" && data !== undefined && !isBlank(data);
  const file = {
    ...(type === "url" ? { url: url ?? "" } : { base64: plain ? Buffer.from(data).toString("base64") : (data ?? "") }),
    mediaType: plain ? "text/plain" : mediaType || (memberOf(block, "type") === "document" ? "application/pdf" : ""),
    name,
  };
  return readFile(file, note);
}

function textOfBlocks(content: Json | undefined): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((item) => stringOf(memberOf(item, "text")))
    .join("\n");
}

/** Messages for the `messages` of a request. System messages become tagged text of the user, as a request has them. */
export function writeAnthropic(messages: readonly Message[]): readonly JsonObject[] {
  return messages.flatMap((message) => {
    const role = message.role === "assistant" ? "assistant" : "user";
    const answer = role === "assistant" ? message.parts.map((part) => inAnswer(part)) : message.parts;
    const parts = message.role === "system" ? [text(systemText(message))] : answer;
    const blocks = parts.flatMap((part) => writePart(part));
    return blocks.length === 0 ? [] : [{ role, content: blocks }];
  });
}

function writePart(part: Part): readonly Json[] {
  const block = toBlock(part, {
    modelId: part.type === "reasoning" ? stringOf(memberOf(part.seal?.data, "model")) : "",
    images: true,
    blobs: new Map(),
    idOfCall: ({ callId }) => wireId(callId),
    idOfResult: wireId,
  });
  return block === undefined ? [] : [parseJson(block.json) ?? null];
}
