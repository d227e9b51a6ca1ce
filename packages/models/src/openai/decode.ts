/** The event stream of the Responses API (protocols.md section 2.1) as model events. Pure; one decoder a response. */

import type { Json, ModelEvent, TurnReason } from "@capstan/core";
import { withCost } from "../price.ts";
import { protocolError } from "../provider/errors.ts";
import { EventBatch, parseEvent } from "../provider/event-batch.ts";
import type { AnswerOptions } from "../provider/http-model.ts";
import type { StreamDecoder } from "../provider/http-stream.ts";
import { isObject, type JsonObject, listOf, lookUp, memberOf, objectOf, stringOf } from "../provider/json.ts";
import type { SseEvent } from "../sse.ts";
import { OPENAI } from "./content.ts";
import {
  callPart,
  contentTexts,
  messageMark,
  opaquePart,
  type OpenBlock,
  type OpenItem,
  openItem,
  reasoningPart,
  reasoningText,
  sectioned,
  shownAs,
} from "./open-item.ts";
import { type PlainDelta, plainDeltas } from "./plain-delta.ts";
import { toUsage } from "./usage.ts";

export type DecoderOptions = AnswerOptions & {
  /** Goes into the seals: only models of this family get them back. */
  readonly family: string;
};

/** Reasons of an incomplete response. */
const REASONS: Readonly<Record<string, TurnReason>> = {
  max_output_tokens: "length",
  content_filter: "content-filter",
  steered: "paused",
};

export function responseDecoder(options: DecoderOptions): StreamDecoder {
  return new Decoder(options);
}

class Decoder implements StreamDecoder {
  readonly #options: DecoderOptions;
  readonly #open = new Map<number, OpenItem>();
  readonly #plain = plainDeltas();
  #blocks = 0;
  readonly #out = new EventBatch();
  #called = false;
  /** An item has begun. */
  #streamed = false;
  #refused = false;
  finished = false;
  started = false;

  constructor(options: DecoderOptions) {
    this.#options = options;
  }

  push(events: readonly SseEvent[]): readonly ModelEvent[] {
    for (const { event, data } of events) {
      if (this.finished) break;
      const plain = this.#plain(data);
      if (plain !== undefined) this.#textDelta(plain);
      else this.#read(event, data);
    }
    return this.#out.take();
  }

  end(): readonly ModelEvent[] {
    return []; // only the response's own last event ends it
  }

  #read(name: string | undefined, data: string): void {
    if (data === "[DONE]") return; // some gateways end like the older protocol
    const event = parseEvent(OPENAI, data);
    const type = stringOf(memberOf(event, "type") ?? name);
    switch (type) {
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        return this.#begin(memberOf(event, "response"));
      case "response.output_item.added":
        return void this.#addItem(indexOf(event, "output_index"), objectOf(memberOf(event, "item")));
      case "response.output_item.done":
        return this.#endItem(indexOf(event, "output_index"), objectOf(memberOf(event, "item")));
      case "response.completed":
      case "response.incomplete":
        return this.#finish(objectOf(memberOf(event, "response")), type, data);
      case "error":
      case "response.failed":
        throw this.#options.toError(data);
      case "":
        if (isObject(memberOf(event, "error"))) throw this.#options.toError(data);
        return;
      default:
        return this.#readDelta(type, event); // or what the protocol may add
    }
  }

  #begin(response: Json | undefined): void {
    if (this.started) return;
    this.started = true;
    this.#out.start(this.#options.modelId, memberOf(response, "model"), memberOf(response, "id"));
  }

  #readDelta(type: string, event: Json): void {
    const delta = stringOf(memberOf(event, "delta"));
    const outputIndex = indexOf(event, "output_index");
    if (type === "response.output_text.done") return this.#textDone(outputIndex, event);
    if (delta === "") return;
    switch (type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        return this.#textDelta({ outputIndex, contentIndex: indexOf(event, "content_index"), delta });
      case "response.function_call_arguments.delta": {
        const item = this.#item(outputIndex);
        return item.kind === "call" ? this.#show(this.#block(item, 0), delta) : undefined;
      }
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta": {
        const item = this.#item(outputIndex);
        const piece = indexOf(event, type.includes("summary") ? "summary_index" : "content_index");
        if (item.kind !== "reasoning") return;
        return this.#show(this.#block(item, 0), sectioned(item, `${type}${piece}`, delta));
      }
      default:
    }
  }

  #textDelta({ outputIndex, contentIndex, delta }: PlainDelta): void {
    const item = this.#item(outputIndex);
    if (item.kind === "message" && delta !== "") this.#show(this.#block(item, contentIndex), delta);
  }

  #textDone(outputIndex: number, event: Json): void {
    const item = this.#open.get(outputIndex);
    const text = stringOf(memberOf(event, "text"));
    if (item?.kind === "message" && text !== "")
      this.#complete(this.#block(item, indexOf(event, "content_index")), text);
  }

  #addItem(outputIndex: number, wire: JsonObject): OpenItem {
    this.#begin(undefined);
    this.#streamed = true;
    if (this.#open.has(outputIndex))
      throw protocolError(OPENAI, `opened item ${outputIndex} twice`, { retryable: true });
    const item = openItem(wire);
    this.#open.set(outputIndex, item);
    if (item.kind !== "message") this.#block(item, 0); // people see at once that it began
    return item;
  }

  #endItem(outputIndex: number, done: JsonObject): void {
    const item = this.#open.get(outputIndex) ?? this.#addItem(outputIndex, done);
    this.#open.delete(outputIndex);
    const { family } = this.#options;
    if (item.kind === "message") return this.#endMessage(item, done);
    const block = this.#block(item, 0);
    if (item.kind === "reasoning") {
      if (block.text === "") this.#complete(block, reasoningText(done));
      return this.#out.end(block.index, reasoningPart(block.text, done, family));
    }
    if (item.kind === "opaque") return this.#out.end(block.index, opaquePart(done, family));
    this.#complete(block, stringOf(done["arguments"]));
    this.#called = true;
    this.#out.end(block.index, callPart(block.text, { ...item.wire, ...done }));
  }

  #endMessage(item: OpenItem, done: JsonObject): void {
    for (const [contentIndex, { text, refusal }] of contentTexts(done).entries()) {
      this.#refused ||= refusal;
      if (text !== "") this.#complete(this.#block(item, contentIndex), text);
    }
    this.#endTexts(item);
    const mark = item.blocks.size === 0 ? undefined : messageMark(done);
    if (mark !== undefined) this.#out.end(this.#blocks++, mark);
  }

  #endTexts(item: OpenItem): void {
    for (const block of item.blocks.values()) this.#out.end(block.index, { type: "text", text: block.text });
  }

  /** Shows what the whole text has beyond its deltas: some servers send few or none. */
  #complete(block: OpenBlock, whole: string): void {
    if (whole.length > block.text.length && whole.startsWith(block.text))
      this.#show(block, whole.slice(block.text.length));
  }

  #item(outputIndex: number): OpenItem {
    const item = this.#open.get(outputIndex);
    if (item === undefined)
      throw protocolError(OPENAI, `sent a piece of item ${outputIndex}, which is not open`, { retryable: true });
    return item;
  }

  #block(item: OpenItem, contentIndex: number): OpenBlock {
    const known = item.blocks.get(contentIndex);
    if (known !== undefined) return known;
    const block: OpenBlock = { index: this.#blocks++, text: "" };
    item.blocks.set(contentIndex, block);
    const shown = shownAs(item);
    if (shown !== undefined) this.#out.push({ type: "block-start", index: block.index, block: shown });
    return block;
  }

  #show(block: OpenBlock, delta: string): void {
    block.text += delta;
    this.#out.delta(block.index, delta);
  }

  #finish(response: JsonObject, type: string, data: string): void {
    this.#begin(response);
    const status = stringOf(response["status"]) || type.slice("response.".length);
    if (status === "failed" || status === "cancelled") throw this.#options.toError(data);
    // some servers stream nothing and say all of it in the last event
    for (const [at, item] of (this.#streamed ? [] : listOf(response["output"])).entries())
      this.#endItem(at, objectOf(item));
    const [reason, rawReason] = status === "incomplete" ? this.#incomplete(response) : this.#completed(status);
    this.finished = true;
    this.#out.push({ type: "finish", reason, rawReason, usage: withCost(toUsage(response), this.#options.price) });
  }

  #completed(status: string): readonly [TurnReason, string] {
    if (this.#open.size > 0) throw protocolError(OPENAI, "ended the answer inside an item", { retryable: true });
    if (status !== "completed") return ["other", status];
    return [this.#called ? "tool-calls" : this.#refused ? "refusal" : "stop", status];
  }

  /** What was open stays as far as it came; the loop keeps no calls of such an answer. */
  #incomplete(response: JsonObject): readonly [TurnReason, string] {
    for (const item of this.#open.values()) {
      const [block] = item.blocks.values();
      if (item.kind === "message" || block === undefined) this.#endTexts(item);
      else if (item.kind === "call") this.#out.end(block.index, callPart(block.text, item.wire));
      else if (item.kind === "reasoning") this.#out.end(block.index, { type: "reasoning", text: block.text });
    }
    this.#open.clear();
    const reason = stringOf(memberOf(response["incomplete_details"], "reason"));
    return [lookUp(REASONS, reason) ?? "other", reason || "incomplete"];
  }
}

function indexOf(event: Json, name: string): number {
  const index = memberOf(event, name);
  return typeof index === "number" ? index : -1;
}
