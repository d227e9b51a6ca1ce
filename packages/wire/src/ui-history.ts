/** A session's log as UI messages: what `useChat` begins with when a page is opened again. */

import type { Envelope } from "@capstan/core";
import type { UiChunk } from "./ui-chunk.ts";
import { saidOf, uiStream, type UiStream } from "./ui-stream.ts";

export type UiPart = { type: string; [member: string]: unknown };
export type UiMessage = {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly UiPart[];
  readonly metadata?: unknown;
};
export type UiHistory = { push(envelope: Envelope): void; readonly messages: readonly UiMessage[] };

/** Name of the tag under which an input carries the id of the client's message. */
export const UI_MESSAGE_TAG = "ui-message";

type Answering = { readonly stream: UiStream; readonly message: BuiltMessage };
type BuiltMessage = { id: string; role: "assistant"; parts: UiPart[]; metadata?: unknown };

/** Facts go in, from the first one on. A run is one message of the assistant under the run's id. */
export function uiHistory(): UiHistory {
  const messages: UiMessage[] = [];
  const inputs = new Map<string, string>();
  let answering: Answering | undefined;
  return {
    messages,
    push(envelope) {
      const { event } = envelope;
      if (envelope.parent !== undefined) return;
      if (event.type === "input.accepted") inputs.set(event.inputId, event.overrides?.tags?.[UI_MESSAGE_TAG] ?? "");
      if (event.type === "run.started" && event.runId !== undefined) {
        const message: BuiltMessage = { id: event.runId, role: "assistant", parts: [] };
        answering = { stream: uiStream({ runId: event.runId, inputId: event.inputId }), message };
      }
      const own = event.type === "message.added" && event.message.role === "user" && event.inputId !== undefined;
      const steers = own && answering !== undefined && answering.message.parts.length > 0;
      if (own && !steers) {
        const id = inputs.get(event.inputId ?? "") || event.message.id;
        messages.push({ id, role: "user", parts: event.message.parts.flatMap((part) => saidOf(part)) });
      }
      if (answering === undefined) return;
      for (const chunk of answering.stream.push(envelope)) addChunk(answering.message, chunk);
      if (answering.message.parts.length > 0 && messages.at(-1)?.id !== answering.message.id)
        messages.push(answering.message);
      if (event.type === "run.finished") answering = undefined;
    },
  };
}

/** As the client of `ai` 7 would, of the chunks that stored facts give. */
function addChunk(message: BuiltMessage, chunk: UiChunk): void {
  const { parts } = message;
  const tool = "toolCallId" in chunk ? parts.findLast((part) => part["toolCallId"] === chunk.toolCallId) : undefined;
  switch (chunk.type) {
    case "start-step":
      return void parts.push({ type: "step-start" });
    case "reset-step":
      return void parts.splice(parts.findLastIndex(({ type }) => type === "step-start") + 1);
    case "text-start":
      return void parts.push({ type: "text", text: "", state: "done" });
    case "reasoning-start":
      return void parts.push({ type: "reasoning", id: chunk.id, text: "", state: "done" });
    case "text-delta":
    case "reasoning-delta":
      return addText(parts.at(-1), chunk.delta);
    case "tool-input-available":
      return setTool(parts, tool, chunk);
    case "tool-approval-request": {
      const { approvalId: id, approvalDescriptor: descriptor, reason: requestReason } = chunk;
      const approval = { id, descriptor, ...(requestReason !== undefined && { requestReason }) };
      return void Object.assign(tool ?? {}, { state: "approval-requested", approval });
    }
    case "tool-approval-response": {
      const asked = parts.find(
        (part) => (part["approval"] as { readonly id?: string } | undefined)?.id === chunk.approvalId,
      );
      const { approved, reason } = chunk;
      const approval = { ...(asked?.["approval"] as object), approved, ...(reason !== undefined && { reason }) };
      return void Object.assign(asked ?? {}, { state: "approval-responded", approval });
    }
    case "tool-output-available":
      return void Object.assign(tool ?? {}, { state: "output-available", output: chunk.output });
    case "tool-output-error":
      return void Object.assign(tool ?? {}, { state: "output-error", errorText: chunk.errorText });
    case "tool-output-denied":
      return void Object.assign(tool ?? {}, { state: "output-denied" });
    case "source-url":
    case "file":
    case "steering-message":
      return void parts.push({ ...chunk });
    case "finish":
      if (chunk.messageMetadata !== undefined) message.metadata = chunk.messageMetadata;
      return;
    default:
      return chunk.type.startsWith("data-") ? addData(parts, chunk) : undefined;
  }
}

function addText(part: UiPart | undefined, delta: string): void {
  if (part !== undefined) part["text"] = `${String(part["text"])}${delta}`;
}

function setTool(
  parts: UiPart[],
  known: UiPart | undefined,
  { toolCallId, toolName, input, providerExecuted }: Extract<UiChunk, { type: "tool-input-available" }>,
): void {
  const elsewhere = providerExecuted === undefined ? {} : { providerExecuted };
  const part = { type: "dynamic-tool", toolName, toolCallId, state: "input-available", input, ...elsewhere };
  if (known === undefined) parts.push(part);
  else Object.assign(known, part);
}

function addData(parts: UiPart[], chunk: UiChunk): void {
  if (!("data" in chunk) || chunk.transient === true) return;
  const known =
    chunk.id === undefined ? undefined : parts.find(({ type, id }) => type === chunk.type && id === chunk.id);
  if (known === undefined) parts.push({ ...chunk });
  else known["data"] = chunk.data;
}
