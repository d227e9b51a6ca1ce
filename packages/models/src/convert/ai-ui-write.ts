/** Our messages as `UIMessage`s of the AI SDK: an answer and the results of its calls are one message. Pure. */

import { type Message, type Part, textOf, type ToolOutput, type ToolResultPart } from "@capstan/core";
import { diffText } from "../diff-text.ts";
import { FILE_GAPS, fileMarker, fileUrl, mediaTypeOf } from "../provider/files.ts";
import type { JsonObject } from "../provider/json.ts";
import { isBlank } from "../wire-text.ts";
import { isMetadata, isUiExtra } from "./ai-extras.ts";
import { UI_FORMAT } from "./ai-ui.ts";

export function writeAiUi(messages: readonly Message[]): readonly JsonObject[] {
  const results = new Map<string, ToolResultPart>();
  for (const { parts } of messages)
    for (const part of parts) if (part.type === "tool-result") results.set(part.callId, part);
  const written: { readonly id: string; readonly role: string; readonly parts: JsonObject[] }[] = [];
  for (const { id, role, parts } of messages) {
    if (parts.length > 0 && parts.every(({ type }) => type === "tool-result")) continue; // in the message of their calls
    const made = parts.flatMap((part) => writePart(part, results));
    if (made.length === 0) continue;
    const last = written.at(-1);
    if (role === "assistant" && last?.role === role) last.parts.push({ type: "step-start" }, ...made);
    else written.push({ id, role, parts: role === "assistant" ? [{ type: "step-start" }, ...made] : made });
  }
  return written;
}

function writePart(part: Part, results: ReadonlyMap<string, ToolResultPart>): readonly JsonObject[] {
  switch (part.type) {
    case "text":
      return isBlank(part.text) ? [] : [{ type: "text", text: part.text }];
    case "reasoning": {
      const data = part.seal?.provider === UI_FORMAT && isMetadata(part.seal.data) ? part.seal.data : undefined;
      return [{ type: "reasoning", text: part.text, ...(data !== undefined && { providerMetadata: data }) }];
    }
    case "file": {
      const url = fileUrl(part, new Map());
      if (url === undefined) return [{ type: "text", text: fileMarker(part, FILE_GAPS.absent) }];
      const named = part.name === undefined ? {} : { filename: part.name };
      return [{ type: "file", mediaType: mediaTypeOf(part), url, ...named }];
    }
    case "tool-call": {
      if (part.by === "provider") return [];
      const { callId: toolCallId, name: toolName, input } = part;
      return [{ type: "dynamic-tool", toolName, toolCallId, ...stateOf(results.get(toolCallId)), input }];
    }
    case "source": {
      const { id: sourceId, url, title } = part;
      const named = title === undefined ? {} : { title };
      if (url === undefined)
        return [{ type: "source-document", sourceId, mediaType: "text/plain", title: title ?? sourceId }];
      return [{ type: "source-url", sourceId, url, ...named }];
    }
    case "opaque":
      return part.seal.provider === UI_FORMAT && isUiExtra(part.seal.data) ? [part.seal.data as JsonObject] : [];
    case "tool-result":
      return [];
    default:
      return part satisfies never;
  }
}

function stateOf(result: ToolResultPart | undefined): JsonObject {
  if (result === undefined) return { state: "input-available" };
  const { output } = result;
  const said = output.content.map((item) => (item.type === "diff" ? diffText(item) : textOf([item]))).join("\n");
  if (output.isError === true) return { state: "output-error", errorText: said };
  return { state: "output-available", output: valueOf(output, said) };
}

function valueOf(output: ToolOutput, said: string): NonNullable<ToolOutput["output"]> {
  if (output.content.some(({ type }) => type === "file")) return output as unknown as JsonObject; // an output is JSON by its type
  return output.output ?? said;
}
