/** NDJSON lines of protocol 1: what a simple desktop shell shows of a run, a line an event. */

import { type Envelope, type Event, type FactOf, isLive, type Live } from "@capstan/core";
import { type Screen, screen, type Shown } from "./screen.ts";
import { toolText, toolValue } from "./tool-text.ts";

/** `id` and `timestamp` are added by whoever writes it. */
export type StdioLine = { readonly type: string; readonly [field: string]: unknown };
export type StdioLines = { push(envelope: Envelope): readonly StdioLine[] };

export function stdioLines(): StdioLines {
  const own = screen();
  return {
    push: ({ event, parent, sessionId }) =>
      parent === undefined ? ownLines(own, event, sessionId) : childLines(event, sessionId),
  };
}

function ownLines(own: Screen, event: Event, sessionId: string): readonly StdioLine[] {
  return own.push(event).flatMap((shown) => lineOf(shown, sessionId) ?? []);
}

/** Of sub-agents only what a person must answer. */
function childLines(event: Event, sessionId: string): readonly StdioLine[] {
  return event.type === "request.opened" ? [requestLine(event, sessionId)] : [];
}

function lineOf(shown: Shown, sessionId: string): StdioLine | undefined {
  switch (shown.type) {
    case "turn-reset":
      return { type: "reset", ...(shown.error !== undefined && { error: shown.error.message }) };
    case "block-delta":
      if (shown.block.kind === "text") return { type: "token", token: shown.delta };
      return shown.block.kind === "reasoning" ? { type: "thinking", thinking: shown.delta } : undefined;
    case "block-finished": {
      const { part } = shown;
      if (part.type !== "tool-call") return undefined;
      return { type: "tool_use", tool_id: shown.block.callId ?? part.callId, name: part.name, input: part.input };
    }
    case "event":
      return isLive(shown.event) ? liveLine(shown.event) : factLine(shown.event, sessionId);
    case "turn-started":
    case "turn-finished":
    case "block-started":
    case "part":
      return undefined;
    default:
      return shown satisfies never;
  }
}

function factLine(event: Exclude<Event, Live>, sessionId: string): StdioLine | undefined {
  switch (event.type) {
    case "tool.started":
      return { type: "tool_start", tool_id: event.callId, name: event.name, title: event.title };
    case "tool.finished": {
      const { callId: tool_id, name, status, output } = event;
      const shown = status === "ok" ? toolValue(output) : toolText(output);
      return { type: "tool_result", tool_id, name, status, output: shown, is_error: status !== "ok" };
    }
    case "request.opened":
      return requestLine(event, sessionId);
    case "request.resolved":
      return { type: "request_resolved", request_id: event.requestId, answer: event.answer };
    case "plan.updated":
      return { type: "plan", entries: event.entries };
    case "task.started":
      return { type: "subagent", task_id: event.taskId, title: event.title, status: "started" };
    case "task.finished":
      return { type: "subagent", task_id: event.taskId, status: event.status, summary: event.summary };
    case "context.compacted":
      return { type: "status", code: "context-compacted", title: "The conversation was summed up" };
    case "data":
      return event.name.startsWith("plugin/") ? undefined : { type: "data", name: event.name, data: event.data };
    default:
      return undefined;
  }
}

function requestLine({ requestId: request_id, request, expiresAt }: FactOf<"request.opened">, id: string): StdioLine {
  const shared = { request_id, conversation_id: id, expires_at: expiresAt };
  if (request.type !== "permission") return { type: "request", ...shared, request };
  const { tool, input, title, reason, remember } = request;
  return { type: "permission_request", ...shared, tool, input, title, ...(reason && { reason }), remember };
}

function liveLine(event: Live): StdioLine | undefined {
  switch (event.type) {
    case "tool.progress": {
      const { callId: tool_id, stream, chunk, message, progress, total } = event;
      return { type: "tool_progress", tool_id, stream, chunk, message, progress, total };
    }
    case "usage.updated": {
      const { contextTokens: context_tokens, contextSize: context_size, session } = event;
      return { type: "usage", context_tokens, context_size, session };
    }
    case "notice":
      return { type: "status", severity: event.severity, code: event.code, title: event.title, detail: event.detail };
    case "data.live":
      return { type: "data", name: event.name, data: event.data };
    default:
      return undefined;
  }
}
