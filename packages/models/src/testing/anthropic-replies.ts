/** Answers of the Messages API as its events and their bytes, for scripted servers. Pure. */

import { createHash } from "node:crypto";

/** One event of the stream; `data` is sent as JSON, or as it is when it is a string. */
export type WireEvent = { readonly event: string; readonly data: unknown };

export type ReplyBlock =
  /** `deltas` in place of one delta with the whole text. */
  | { readonly type: "text"; readonly text: string; readonly deltas?: readonly string[] }
  | { readonly type: "thinking"; readonly thinking: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  /** `json` in place of the text of `input`, to send what is not valid. */
  | {
      readonly type: "tool_use";
      readonly name: string;
      readonly input?: unknown;
      readonly id?: string;
      readonly json?: string;
    }
  /** Any other block with its deltas as they are. */
  | { readonly type: "raw"; readonly block: object; readonly deltas?: readonly object[] };

export type WireUsage = {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
};

export type ReplyHead = { readonly id: string; readonly model: string; readonly usage: WireUsage };

/** Deltas of a tool's input are cut at this many characters, as the API cuts them anywhere. */
const INPUT_PIECE = 12;

/** The events of a whole answer, as the API sends them. */
export function replyEvents(head: ReplyHead, blocks: readonly ReplyBlock[], stopReason: string): WireEvent[] {
  const message = { id: head.id, type: "message", role: "assistant", model: head.model, content: [] };
  const usage = { ...head.usage, output_tokens: 1 };
  const start = { ...message, stop_reason: null, stop_sequence: null, usage };
  const content = blocks.flatMap((block, index) => blockEvents(block, index, head.id));
  const outputTokens = Math.ceil(JSON.stringify(blocks).length / 4);
  const delta = { stop_reason: stopReason, stop_sequence: null };
  return [
    wireEvent({ type: "message_start", message: start }),
    wireEvent({ type: "ping" }),
    ...content,
    wireEvent({ type: "message_delta", delta, usage: { ...head.usage, output_tokens: outputTokens } }),
    wireEvent({ type: "message_stop" }),
  ];
}

/** An event named by its own type. */
export function wireEvent(data: { readonly type: string; readonly [name: string]: unknown }): WireEvent {
  return { event: data.type, data };
}

export function wireBytes(events: readonly WireEvent[]): Buffer {
  return Buffer.from(events.map(eventText).join(""));
}

function eventText({ event, data }: WireEvent): string {
  return `event: ${event}\ndata: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** The signature that the scripted server gives a thinking block, and expects back. */
export function signatureOf(thinking: string): string {
  return `sig_${createHash("sha256").update(thinking).digest("base64url")}`;
}

function blockEvents(block: ReplyBlock, index: number, messageId: string): readonly WireEvent[] {
  const [start, deltas] = startAndDeltas(block, `${messageId.replace("msg", "toolu")}_${index}`);
  return [
    wireEvent({ type: "content_block_start", index, content_block: start }),
    ...deltas.map((delta) => wireEvent({ type: "content_block_delta", index, delta })),
    wireEvent({ type: "content_block_stop", index }),
  ];
}

function startAndDeltas(block: ReplyBlock, id: string): readonly [start: object, deltas: readonly object[]] {
  switch (block.type) {
    case "text": {
      const deltas = (block.deltas ?? [block.text]).map((text) => ({ type: "text_delta", text }));
      return [{ type: "text", text: "" }, deltas];
    }
    case "thinking": {
      const signature = signatureOf(block.thinking);
      const deltas = [
        { type: "thinking_delta", thinking: block.thinking },
        { type: "signature_delta", signature },
      ];
      return [{ type: "thinking", thinking: "", signature: "" }, deltas];
    }
    case "redacted_thinking":
      return [block, []];
    case "tool_use": {
      const json = block.json ?? JSON.stringify(block.input ?? {});
      const pieces = json.match(new RegExp(`[^]{1,${INPUT_PIECE}}`, "g")) ?? [];
      const deltas = ["", ...pieces].map((piece) => ({ type: "input_json_delta", partial_json: piece }));
      return [{ type: "tool_use", id: block.id ?? id, name: block.name, input: {} }, deltas];
    }
    case "raw":
      return [block.block, block.deltas ?? []];
    default:
      return block satisfies never;
  }
}
