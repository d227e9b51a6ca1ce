/** A scripted OpenAI Responses server on the loopback: refuses what the API refuses, and breaks when told to. */

import { wireBytes, type WireEvent } from "./anthropic-replies.ts";
import type { IssuedItem } from "./check-openai-responses-input.ts";
import { checkOpenAIRequest } from "./check-openai-responses-request.ts";
import { doneItem, responseEvents, type ResponseItem, type ResponseUsage } from "./openai-responses-replies.ts";
import {
  type Delivery,
  type PlainReply,
  type RecordedRequest,
  type Script,
  type ScriptedProvider,
  type ScriptedServer,
  scriptedServer,
} from "./scripted-server.ts";

type ResponseStream = {
  readonly items: readonly ResponseItem[];
  /** Default: `completed`. */
  readonly status?: string;
  /** Reason of the status `incomplete`, which it implies. */
  readonly incomplete?: string;
  readonly usage?: ResponseUsage;
  /** Changes the events of the answer before they are sent. */
  readonly edit?: (events: readonly WireEvent[]) => readonly WireEvent[];
};
export type OpenAIReply = (ResponseStream & { readonly delivery?: Delivery }) | PlainReply;
export type OpenAIScript = Script<OpenAIReply>;
export type OpenAIServer = ScriptedServer;

const USAGE: ResponseUsage = { input_tokens: 10, output_tokens: 5 };

/** Listens on a free port of 127.0.0.1, under `/v1/responses`. The caller closes it. */
export function openaiServer(script: OpenAIScript): Promise<OpenAIServer> {
  return scriptedServer(openaiApi(script));
}

/** The API itself, to be served or to stand behind a transport. */
export function openaiApi(script: OpenAIScript): ScriptedProvider<ResponseStream, RecordedRequest> {
  const issued = new Map<string, IssuedItem>();
  return {
    script,
    check: ({ path, headers, body }) => [
      ...checkOpenAIRequest(headers, body, issued),
      ...(path === "/v1/responses" ? [] : [`${path}: no such path`]),
    ],
    record: (request) => request,
    stream(reply, request, index) {
      const id = `resp_${index}`;
      issue(issued, reply.items, id);
      const status = reply.status ?? (reply.incomplete === undefined ? "completed" : "incomplete");
      const end = { status, ...(reply.incomplete !== undefined && { incomplete: reply.incomplete }) };
      const head = { id, model: String(request.body["model"]), usage: reply.usage ?? USAGE };
      const events = responseEvents(head, reply.items, end);
      return wireBytes(reply.edit?.(events) ?? events);
    },
    error: (status, message) => openaiError(CODES[status] ?? "server_error", message),
  };
}

/** Remembers what was given out, and behind which reasoning. */
function issue(issued: Map<string, IssuedItem>, items: readonly ResponseItem[], responseId: string): void {
  let after: string | undefined;
  for (const [at, item] of items.entries()) {
    const done = doneItem(item, at, responseId) as { readonly id: string; readonly type: string }; // it makes both
    issued.set(done.id, { json: JSON.stringify(done), ...(after !== undefined && { after }) });
    if (done.type === "reasoning") after = done.id;
  }
}

/** The body of an error as the API sends it. */
export function openaiError(code: string, message: string): object {
  return { error: { message, type: TYPES[code] ?? "invalid_request_error", param: null, code } };
}

const TYPES: Readonly<Record<string, string>> = {
  server_error: "server_error",
  rate_limit_exceeded: "tokens",
  insufficient_quota: "insufficient_quota",
};
const CODES: Readonly<Record<number, string>> = {
  400: "invalid_value",
  401: "invalid_api_key",
  404: "model_not_found",
  429: "rate_limit_exceeded",
};
