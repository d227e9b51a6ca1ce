/** Answers of the Responses API as its events and their bytes, for scripted servers. Pure. */

import { createHash } from "node:crypto";
import { type WireEvent, wireEvent } from "./anthropic-replies.ts";

export type ResponseItem =
  /** `deltas` in place of one delta with the whole text. */
  | { readonly type: "text"; readonly text: string; readonly deltas?: readonly string[]; readonly phase?: string }
  | { readonly type: "refusal"; readonly refusal: string }
  /** One summary part a text. `raw`: reasoning in the open, as servers of open models send it. */
  | { readonly type: "reasoning"; readonly summary: readonly string[]; readonly raw?: string }
  /** `json` in place of the text of `input`, to send what is not valid. */
  | {
      readonly type: "call";
      readonly name: string;
      readonly input?: unknown;
      readonly callId?: string;
      readonly json?: string;
      /** Further members of the item. */
      readonly extra?: object;
    }
  /** Any other item, with the events between its beginning and its end. */
  | { readonly type: "raw"; readonly item: object; readonly events?: readonly object[] };

export type ResponseUsage = {
  readonly input_tokens: number;
  readonly input_tokens_details?: { readonly cached_tokens?: number; readonly cache_write_tokens?: number };
  readonly output_tokens: number;
  readonly output_tokens_details?: { readonly reasoning_tokens?: number };
};
export type ResponseHead = { readonly id: string; readonly model: string; readonly usage: ResponseUsage };
/** How the response ends: its status, or the reason why it is incomplete. */
export type ResponseEnd = { readonly status: string; readonly incomplete?: string };

/** Deltas of arguments are cut at this many characters, as the API cuts them anywhere. */
const ARGUMENTS_PIECE = 12;

type Wire = { readonly type: string; readonly [name: string]: unknown };
type Sent = { readonly begin: Wire; readonly between: readonly Wire[]; readonly done: Wire };

/** The events of a whole answer, as the API sends them. */
export function responseEvents(head: ResponseHead, items: readonly ResponseItem[], end: ResponseEnd): WireEvent[] {
  const response = { id: head.id, object: "response", model: head.model, error: null, incomplete_details: null };
  const sent = items.map((item, at) => itemEvents(item, at, head.id));
  const open = { response: { ...response, status: "in_progress", output: [], usage: null } };
  const whole = {
    ...response,
    status: end.status,
    ...(end.incomplete !== undefined && { incomplete_details: { reason: end.incomplete } }),
    output: sent.map(({ done }) => done),
    usage: { ...head.usage, total_tokens: head.usage.input_tokens + head.usage.output_tokens },
  };
  const events: Wire[] = [
    { type: "response.created", ...open },
    { type: "response.in_progress", ...open },
    ...sent.flatMap(({ begin, between, done }, at) => [
      { type: "response.output_item.added", output_index: at, item: begin },
      ...between,
      { type: "response.output_item.done", output_index: at, item: done },
    ]),
    { type: `response.${end.status}`, response: whole },
  ];
  return events.map((event, at) => wireEvent({ ...event, sequence_number: at }));
}

/** What the scripted server gives as the encrypted text of reasoning with this id, and expects back. */
export function encryptedOf(id: string): string {
  return `gAAAAA${createHash("sha256").update(id).digest("base64url")}`;
}

/** The item of an answer that the client has to send back as it is. */
export function doneItem(item: ResponseItem, index: number, responseId: string): object {
  return itemEvents(item, index, responseId).done;
}

function itemEvents(item: ResponseItem, index: number, responseId: string): Sent {
  const id = `${responseId.replace("resp", PREFIX[item.type])}_${index}`;
  const place = { item_id: id, output_index: index };
  switch (item.type) {
    case "text": {
      const content = { type: "output_text", annotations: [], logprobs: [], text: item.text };
      const deltas = (item.deltas ?? [item.text]).map((delta) => ({ content_index: 0, delta, ...place, logprobs: [] }));
      return messageEvents(id, place, item.phase, content, "response.output_text", deltas);
    }
    case "refusal": {
      const content = { type: "refusal", refusal: item.refusal };
      const deltas = [{ content_index: 0, delta: item.refusal, ...place }];
      return messageEvents(id, place, undefined, content, "response.refusal", deltas);
    }
    case "reasoning":
      return reasoningEvents(item, id, place);
    case "call":
      return callEvents(item, id, place);
    case "raw": {
      const wire = { type: "unknown", id, ...item.item };
      return { begin: wire, between: (item.events ?? []).map((event) => ({ type: "unknown", ...event })), done: wire };
    }
    default:
      return item satisfies never;
  }
}

const PREFIX = { text: "msg", refusal: "msg", reasoning: "rs", call: "fc", raw: "ws" } as const;

function messageEvents(
  id: string,
  place: object,
  phase: string | undefined,
  content: Wire,
  name: string,
  deltas: readonly object[],
): Sent {
  const message = { id, type: "message", role: "assistant", ...(phase !== undefined && { phase }) };
  const at = { ...place, content_index: 0 };
  return {
    begin: { ...message, status: "in_progress", content: [] },
    between: [
      { type: "response.content_part.added", ...at, part: { ...content, text: "" } },
      ...deltas.map((delta) => ({ type: `${name}.delta`, ...delta })),
      { type: `${name}.done`, ...at },
      { type: "response.content_part.done", ...at, part: content },
    ],
    done: { ...message, status: "completed", content: [content] },
  };
}

function reasoningEvents(item: Extract<ResponseItem, { type: "reasoning" }>, id: string, place: object): Sent {
  const summary = item.summary.map((text) => ({ type: "summary_text", text }));
  const between = summary.flatMap((part, at): Wire[] => [
    { type: "response.reasoning_summary_part.added", ...place, summary_index: at, part: { ...part, text: "" } },
    { type: "response.reasoning_summary_text.delta", ...place, summary_index: at, delta: part.text },
    { type: "response.reasoning_summary_text.done", ...place, summary_index: at, text: part.text },
    { type: "response.reasoning_summary_part.done", ...place, summary_index: at, part },
  ]);
  const begin = { id, type: "reasoning", summary: [] };
  if (item.raw === undefined) {
    return { begin, between, done: { id, type: "reasoning", summary, encrypted_content: encryptedOf(id) } };
  }
  const content = [{ type: "reasoning_text", text: item.raw }];
  const delta = { type: "response.reasoning_text.delta", ...place, content_index: 0, delta: item.raw };
  return { begin, between: [...between, delta], done: { id, type: "reasoning", summary, content } };
}

function callEvents(item: Extract<ResponseItem, { type: "call" }>, id: string, place: object): Sent {
  const json = item.json ?? JSON.stringify(item.input ?? {});
  const pieces = json.match(new RegExp(`[^]{1,${ARGUMENTS_PIECE}}`, "g")) ?? [];
  const call = { id, type: "function_call", call_id: item.callId ?? `call_${id}`, name: item.name, ...item.extra };
  return {
    begin: { ...call, status: "in_progress", arguments: "" },
    between: [
      ...pieces.map((delta) => ({ type: "response.function_call_arguments.delta", ...place, delta })),
      { type: "response.function_call_arguments.done", ...place, arguments: json },
    ],
    done: { ...call, status: "completed", arguments: json },
  };
}
