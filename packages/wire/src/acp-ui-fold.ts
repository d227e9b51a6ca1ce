/** Building a UI message from the chunks that `acpChunks` makes, as `ai`'s reader does, within limits. */

import { ACP_WIRE_LIMITS as LIMITS } from "./acp-limits.ts";
import type { UiApproval, UiMessage, UiPart, UiTextPart, UiToolPart } from "./acp-ui-message.ts";
import type { UiChunk } from "./ui-chunk.ts";

/** Changes the message in place. What is beyond its limits, or belongs to no part, is dropped. */
export function applyUiChunk(message: UiMessage, chunk: UiChunk): void {
  const { parts } = message;
  switch (chunk.type) {
    case "text-start":
      return add(message, { type: "text", text: "", state: "streaming" });
    case "reasoning-start":
      return add(message, { type: "reasoning", id: chunk.id, text: "", state: "streaming" });
    case "text-delta":
    case "reasoning-delta": {
      const open = openText(parts, chunk.type === "text-delta" ? "text" : "reasoning");
      const left = LIMITS.messageCharacters - charactersOf(message);
      if (open !== undefined && left > 0) open.text += chunk.delta.slice(0, left);
      return;
    }
    case "text-end":
    case "reasoning-end": {
      const open = openText(parts, chunk.type === "text-end" ? "text" : "reasoning");
      if (open !== undefined) open.state = "done";
      return;
    }
    case "file":
      return add(message, { type: "file", mediaType: chunk.mediaType, url: chunk.url });
    case "source-url":
      return add(message, { ...chunk });
    case "tool-input-start":
    case "tool-input-available":
    case "tool-output-available":
    case "tool-output-error":
      return applyToCall(message, chunk);
    case "tool-approval-request": {
      const call = callOf(parts, chunk.toolCallId);
      if (call !== undefined) Object.assign(call, { state: "approval-requested", approval: { id: chunk.approvalId } });
      return;
    }
    case "tool-approval-response":
      return applyAnswer(parts, chunk);
    default:
      if (isData(chunk)) applyData(message, chunk);
  }
}

type ToolChunk = Extract<
  UiChunk,
  { type: "tool-input-start" | "tool-input-available" | "tool-output-available" | "tool-output-error" }
>;

function applyToCall(message: UiMessage, chunk: ToolChunk): void {
  const call = callOf(message.parts, chunk.toolCallId);
  if (chunk.type === "tool-input-start" || chunk.type === "tool-input-available") {
    const state = chunk.type === "tool-input-start" ? ("input-streaming" as const) : ("input-available" as const);
    const input = chunk.type === "tool-input-start" ? undefined : chunk.input;
    const title = chunk.title === undefined ? {} : { title: chunk.title };
    if (call !== undefined) return void Object.assign(call, { state, input, ...title });
    const { toolName, toolCallId } = chunk;
    return add(message, { type: "dynamic-tool", toolName, toolCallId, state, input, ...title });
  }
  if (call === undefined) return;
  if (chunk.type === "tool-output-error") {
    delete call.output;
    delete call.preliminary;
    return void Object.assign(call, { state: "output-error", errorText: chunk.errorText });
  }
  Object.assign(call, { state: "output-available", output: chunk.output });
  if (chunk.preliminary === true) call.preliminary = true;
  else delete call.preliminary;
}

function applyAnswer(
  parts: readonly UiPart[],
  { approvalId, approved, reason }: Extract<UiChunk, { type: "tool-approval-response" }>,
): void {
  const call = parts.findLast((part): part is UiToolPart => isTool(part) && part.approval?.id === approvalId);
  if (call === undefined) return;
  const approval: UiApproval = { id: approvalId, approved, ...(reason !== undefined && { reason }) };
  Object.assign(call, { state: "approval-responded", approval });
}

type DataChunk = Extract<UiChunk, { type: `data-${string}` }>;

function isData(chunk: UiChunk): chunk is DataChunk {
  return chunk.type.startsWith("data-");
}

function applyData(message: UiMessage, chunk: DataChunk): void {
  if (chunk.transient === true) return;
  const { type, id, data } = chunk;
  const known = message.parts.find((part) => part.type === type && "id" in part && part.id === id);
  if (id !== undefined && known !== undefined) return void Object.assign(known, { data });
  add(message, { type, ...(id !== undefined && { id }), data });
}

function add(message: UiMessage, part: UiPart): void {
  if (message.parts.length < LIMITS.messageParts) message.parts.push(part);
}

function openText(parts: readonly UiPart[], type: UiTextPart["type"]): UiTextPart | undefined {
  return parts.findLast((part): part is UiTextPart => part.type === type && (part as UiTextPart).state === "streaming"); // of that type
}

function charactersOf({ parts }: UiMessage): number {
  return parts.reduce(
    (sum, part) => sum + (part.type === "text" || part.type === "reasoning" ? (part as UiTextPart).text.length : 0),
    0,
  );
}

function callOf(parts: readonly UiPart[], toolCallId: string): UiToolPart | undefined {
  return parts.find((part): part is UiToolPart => isTool(part) && part.toolCallId === toolCallId);
}

function isTool(part: UiPart): part is UiToolPart {
  return part.type === "dynamic-tool";
}
