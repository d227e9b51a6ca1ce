/** The event stream of the Messages API (protocols.md section 1.2) as model events. Pure; one decoder a response. */

import type { Json, ModelEvent, TurnReason, Usage } from "@capstan/core";
import { withCost } from "../price.ts";
import { protocolError } from "../provider/errors.ts";
import { EventBatch, parseEvent } from "../provider/event-batch.ts";
import type { AnswerOptions } from "../provider/http-model.ts";
import type { StreamDecoder } from "../provider/http-stream.ts";
import { countOf, isCount, lookUp, memberOf, stringOf } from "../provider/json.ts";
import type { SseEvent } from "../sse.ts";
import { ANTHROPIC } from "./blocks.ts";
import { addOther, addText, endBlock, type OpenBlock, openBlock, TEXT_DELTAS, type TextDelta } from "./open-block.ts";

const REASONS: Readonly<Record<string, TurnReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool-calls",
  max_tokens: "length",
  pause_turn: "paused",
  compaction: "paused",
  refusal: "refusal",
  model_context_window_exceeded: "context-exceeded",
};

/** The model that was asked goes into the seals of thinking: only it gets them back. */
export function messageDecoder(options: AnswerOptions): StreamDecoder {
  return new Decoder(options);
}

/** A quote, a backslash, or a control character, which is whatever stands before the space. */
const NEEDS_PARSER = /["\\]|[^ -\uFFFF]/;

type PlainDelta = { readonly block: OpenBlock; readonly head: string; readonly of: TextDelta };

const COUNTERS = [
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
  "output_tokens_details",
] as const;

class Decoder implements StreamDecoder {
  readonly #options: AnswerOptions;
  readonly #open = new Map<number, OpenBlock>();
  #blocks = 0;
  #plain: PlainDelta | undefined;
  readonly #out = new EventBatch();
  readonly #usage: { [Name in (typeof COUNTERS)[number]]?: Json } = {};
  #rawReason: string | undefined;
  #called = false;
  finished = false;
  started = false;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  push(events: readonly SseEvent[]): readonly ModelEvent[] {
    for (const { event, data } of events) {
      if (this.finished) break;
      if (!this.#plainDelta(data)) this.#read(event, data);
    }
    return this.#out.take();
  }

  end(): readonly ModelEvent[] {
    return []; // only `message_stop` ends a message
  }

  /**
   * Reads a delta of the newest block when it is written exactly as the API writes it: only a text with escapes is parsed.
   * Anything else is left to the JSON parser as a whole, so both ways give the same.
   */
  #plainDelta(data: string): boolean {
    if (this.#plain === undefined) return false;
    const { block, head, of } = this.#plain;
    if (data.slice(0, head.length) !== head) return false; // several times as fast as `startsWith`
    const to = data.lastIndexOf('"');
    if (to < head.length || !isEnd(data, to + 1)) return false;
    const written = data.slice(head.length, to);
    const delta = NEEDS_PARSER.test(written) ? unescaped(written) : written;
    if (delta === undefined) return false;
    this.#addText(block, of, delta);
    return true;
  }

  /** What a plain delta of this block begins with. */
  #expect(wireIndex: number, block: OpenBlock): void {
    const of = TEXT_DELTAS.find(({ kind }) => kind === block.kind);
    const head = `{"type":"content_block_delta","index":${wireIndex},"delta":{"type":"${of?.type}","${of?.member}":"`;
    this.#plain = of && { block, head, of };
  }

  #read(name: string | undefined, data: string): void {
    if (data === "[DONE]") return; // some gateways end like another protocol
    const event = parseEvent(ANTHROPIC, data);
    const type = memberOf(event, "type") ?? name;
    switch (type) {
      case "message_start":
        return this.#start(memberOf(event, "message"));
      case "content_block_start":
        return this.#startBlock(indexOf(event), memberOf(event, "content_block"));
      case "content_block_delta":
        return this.#readDelta(indexOf(event), memberOf(event, "delta"));
      case "content_block_stop":
        return this.#stopBlock(indexOf(event));
      case "message_delta":
        return this.#messageDelta(event);
      case "message_stop":
        return this.#finish();
      case "error":
        throw this.#options.toError(data);
      default: // ping, and what the protocol may add
    }
  }

  #start(message: Json | undefined): void {
    if (this.started) throw protocolError(ANTHROPIC, "began a second message in one answer", { retryable: true });
    this.started = true;
    this.#addUsage(memberOf(message, "usage"));
    this.#out.start(this.#options.modelId, memberOf(message, "model"), memberOf(message, "id"));
  }

  #startBlock(index: number, block: Json | undefined): void {
    this.#mustBeStarted();
    if (this.#open.has(index)) throw protocolError(ANTHROPIC, `opened block ${index} twice`, { retryable: true });
    const opened = openBlock(this.#blocks++, block);
    this.#open.set(index, opened);
    this.#expect(index, opened);
    if (opened.shown !== undefined) this.#out.push({ type: "block-start", index: opened.index, block: opened.shown });
    if (opened.text !== "") this.#show(opened, opened.text);
  }

  #readDelta(index: number, delta: Json | undefined): void {
    const type = memberOf(delta, "type");
    const of = TEXT_DELTAS.find((known) => known.type === type);
    if (of === undefined) addOther(this.#block(index), delta);
    else this.#addText(this.#block(index), of, stringOf(memberOf(delta, of.member)));
  }

  #addText(block: OpenBlock, of: TextDelta, text: string): void {
    if (text !== "" && addText(block, of, text)) this.#show(block, text);
  }

  #show(block: OpenBlock, delta: string): void {
    if (block.shown !== undefined) this.#out.delta(block.index, delta);
  }

  #stopBlock(index: number): void {
    const block = this.#block(index);
    this.#open.delete(index);
    if (this.#plain?.block === block) this.#plain = undefined;
    const part = endBlock(block, this.#options.modelId);
    this.#called ||= part.type === "tool-call";
    this.#out.end(block.index, part);
  }

  #messageDelta(event: Json): void {
    this.#mustBeStarted();
    this.#addUsage(memberOf(event, "usage"));
    const reason = memberOf(memberOf(event, "delta"), "stop_reason");
    if (typeof reason === "string") this.#rawReason = reason;
  }

  #finish(): void {
    this.#mustBeStarted();
    if (this.#open.size > 0) throw protocolError(ANTHROPIC, "ended the answer inside a block", { retryable: true });
    this.finished = true;
    const raw = this.#rawReason;
    const known = lookUp(REASONS, raw) ?? "other";
    const reason = known === "stop" && this.#called ? "tool-calls" : known; // some gateways end every answer the same
    const usage = withCost(toUsage(this.#usage), this.#options.price);
    this.#out.push({ type: "finish", reason, ...(raw !== undefined && { rawReason: raw }), usage });
  }

  #block(index: number): OpenBlock {
    const block = this.#open.get(index);
    if (block === undefined)
      throw protocolError(ANTHROPIC, `sent a piece of block ${index}, which is not open`, { retryable: true });
    return block;
  }

  #mustBeStarted(): void {
    if (!this.started) throw protocolError(ANTHROPIC, "sent an answer without its beginning", { retryable: true });
  }

  /** Counts are cumulative: a later one replaces an earlier one. */
  #addUsage(usage: Json | undefined): void {
    if (typeof usage !== "object" || usage === null) return;
    for (const name of COUNTERS) {
      const value = memberOf(usage, name);
      if (value !== undefined && value !== null) this.#usage[name] = value;
    }
  }
}

/** What stands between two quotes; `undefined` when that is not one string of JSON. */
function unescaped(written: string): string | undefined {
  try {
    return JSON.parse(`"${written}"`) as string; // it begins and ends as a string: nothing else parses
  } catch {
    return undefined;
  }
}

/** `}}` with nothing but white space around: the API pads its events. */
function isEnd(data: string, at: number): boolean {
  if (data.length === at + 2 && data.charCodeAt(at) === 125 && data.charCodeAt(at + 1) === 125) return true;
  return /^[ \t\r\n]*\}[ \t\r\n]*\}[ \t\r\n]*$/.test(data.slice(at));
}

function indexOf(event: Json): number {
  const index = memberOf(event, "index");
  return typeof index === "number" ? index : -1;
}

function toUsage(counts: { readonly [Name in (typeof COUNTERS)[number]]?: Json }): Usage {
  const read = counts["cache_read_input_tokens"];
  const written = counts["cache_creation_input_tokens"];
  const reasoning = memberOf(counts["output_tokens_details"], "thinking_tokens");
  return {
    inputTokens: countOf(counts["input_tokens"]),
    outputTokens: countOf(counts["output_tokens"]),
    ...(isCount(read) && { cacheReadTokens: countOf(read) }),
    ...(isCount(written) && { cacheWriteTokens: countOf(written) }),
    ...(isCount(reasoning) && { reasoningTokens: countOf(reasoning) }),
  };
}
