/** The stream of `streamGenerateContent` (protocols.md section 3) as model events. Pure; one decoder a response. */

import { CapstanError, type Json, type ModelEvent, type Part, type TurnReason, type Usage } from "@capstan/core";
import { withCost } from "../price.ts";
import { protocolError } from "../provider/errors.ts";
import { EventBatch, parseEvent } from "../provider/event-batch.ts";
import type { AnswerOptions } from "../provider/http-model.ts";
import type { StreamDecoder } from "../provider/http-stream.ts";
import { countOf, isObject, type JsonObject, listOf, lookUp, memberOf, objectOf, stringOf } from "../provider/json.ts";
import type { SseEvent } from "../sse.ts";
import { endText, type OpenText } from "./open-text.ts";
import { plainText, plainTextReader } from "./plain-text.ts";
import { GEMINI, sealOf, type Signed, signaturePart } from "./signature.ts";

/** `error`: the provider failed at its own answer; the same request may well succeed. */
const REASONS: Readonly<Record<string, TurnReason>> = {
  STOP: "stop",
  FUNCTION_CALL: "stop", // what some gateways make of STOP
  MAX_TOKENS: "length",
  CONTINUATION: "paused",
  SAFETY: "content-filter",
  RECITATION: "content-filter",
  IMAGE_SAFETY: "content-filter",
  IMAGE_RECITATION: "content-filter",
  IMAGE_PROHIBITED_CONTENT: "content-filter",
  PROHIBITED_CONTENT: "refusal",
  SPII: "refusal",
  BLOCKLIST: "refusal",
  MALFORMED_FUNCTION_CALL: "error",
  UNEXPECTED_TOOL_CALL: "error",
  TOO_MANY_TOOL_CALLS: "error",
  MALFORMED_RESPONSE: "error",
};

/** The model that was asked goes into the seals: only it gets them back. */
export function responseDecoder(options: AnswerOptions): StreamDecoder {
  return new Decoder(options);
}

class Decoder implements StreamDecoder {
  readonly #options: AnswerOptions;
  readonly #plain = plainTextReader();
  #blocks = 0;
  #calls = 0;
  #open: OpenText | undefined;
  readonly #out = new EventBatch();
  #usage: JsonObject = {};
  #rawReason: string | undefined;
  #blocked: string | undefined;
  #continuation: string | undefined;
  finished = false;
  started = false;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  push(events: readonly SseEvent[]): readonly ModelEvent[] {
    for (const { data } of events) {
      const plain = this.#plain.read(data);
      if (plain !== undefined && this.#open?.kind === plain.kind) this.#show(this.#open, plain.text);
      else this.#read(data);
    }
    return this.#out.take();
  }

  /** Some servers repeat the finish reason in every chunk: the answer is whole when the body ends after one. */
  end(): readonly ModelEvent[] {
    const raw = this.#blocked ?? this.#rawReason;
    if (raw === undefined) return [];
    const reason = this.#reasonOf(raw);
    if (reason === "error") {
      const message = `Gemini could not finish its answer (${raw}). Try again.`;
      throw new CapstanError("model-failed", message, { provider: GEMINI.id, retryable: true });
    }
    this.#endOpen(undefined);
    if (reason === "paused" && this.#continuation !== undefined)
      this.#whole(this.#opaque({ continuationToken: this.#continuation }));
    this.finished = true;
    this.#addUsage(this.#plain.takeUsage());
    this.#out.push({
      type: "finish",
      reason,
      rawReason: raw,
      usage: withCost(toUsage(this.#usage), this.#options.price),
    });
    return this.#out.take();
  }

  #reasonOf(raw: string): TurnReason {
    if (this.#blocked !== undefined) return "refusal";
    const reason = lookUp(REASONS, raw) ?? "other";
    return reason === "stop" && this.#calls > 0 ? "tool-calls" : reason;
  }

  #read(data: string): void {
    if (data === "[DONE]") return; // some gateways end like another protocol
    const chunk = parseEvent(GEMINI, data);
    if (isObject(memberOf(listOf(chunk)[0] ?? chunk, "error"))) throw this.#options.toError(data);
    if (!isObject(chunk)) return;
    this.#start(chunk);
    this.#addUsage(this.#plain.takeUsage());
    this.#addUsage(chunk["usageMetadata"]);
    const blocked = memberOf(chunk["promptFeedback"], "blockReason");
    if (typeof blocked === "string") this.#blocked = blocked;
    const candidate = listOf(chunk["candidates"]).find((item) => (memberOf(item, "index") ?? 0) === 0);
    for (const part of listOf(memberOf(memberOf(candidate, "content"), "parts"))) this.#part(objectOf(part));
    const reason = memberOf(candidate, "finishReason");
    if (typeof reason === "string") this.#rawReason = reason;
    const token = memberOf(candidate, "continuationToken");
    if (typeof token === "string") this.#continuation = token;
    this.#plain.learn(data, chunk);
  }

  #start(chunk: JsonObject): void {
    if (this.started) return;
    this.started = true;
    this.#out.start(this.#options.modelId, chunk["modelVersion"], chunk["responseId"]);
  }

  #part(part: JsonObject): void {
    const { thoughtSignature } = part;
    const signature = stringOf(thoughtSignature);
    if (isObject(part["functionCall"])) return this.#call(part["functionCall"], signature);
    if (typeof part["text"] === "string") return this.#text(part["text"], part["thought"] === true, signature);
    const { inlineData } = part;
    if (isObject(inlineData) && part["thought"] !== true) return this.#file(inlineData, signature);
    if (Object.keys(part).some((name) => name !== "thought" && name !== "thoughtSignature")) {
      this.#endOpen(undefined);
      this.#whole(this.#opaque({ part }));
    } else if (signature !== "") this.#text("", part["thought"] === true, signature);
  }

  /** Pieces without a signature are one text; a signature ends it, since it belongs to the piece it came with. */
  #text(text: string, thought: boolean, signature: string): void {
    const kind = plainText(thought);
    if (this.#open !== undefined && this.#open.kind !== kind && (text !== "" || signature !== ""))
      this.#endOpen(undefined);
    if (text !== "") this.#show(this.#open ?? this.#begin(kind), text);
    if (signature === "") return;
    const signed = { signature, tail: text.length };
    if (kind === "reasoning" && this.#open === undefined) this.#begin(kind); // a thought of nothing but its signature
    this.#endOpen(signed);
    if (kind === "text") this.#whole(signaturePart(this.#options.modelId, signed));
  }

  #begin(kind: OpenText["kind"]): OpenText {
    const open: OpenText = { index: this.#blocks++, kind, text: "" };
    this.#open = open;
    this.#out.push({ type: "block-start", index: open.index, block: { type: kind } });
    return open;
  }

  #show(open: OpenText, delta: string): void {
    if (delta === "") return;
    open.text += delta;
    this.#out.delta(open.index, delta);
  }

  #endOpen(signed: Signed | undefined): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    this.#out.end(open.index, endText(open, this.#options.modelId, signed));
  }

  #opaque(data: JsonObject): Part {
    return { type: "opaque", seal: sealOf(data, this.#options.modelId) };
  }

  /** A part that nobody follows while it comes. */
  #whole(part: Part): void {
    this.#out.end(this.#blocks++, part);
  }

  #call(call: JsonObject, signature: string): void {
    if (call["willContinue"] === true || call["partialArgs"] !== undefined)
      throw protocolError(GEMINI, "sent a call in pieces; do not ask for streamFunctionCallArguments", {
        retryable: false,
      });
    this.#endOpen(undefined);
    const index = this.#blocks++;
    const name = stringOf(call["name"]);
    const id = stringOf(call["id"]);
    const input = call["args"] ?? {};
    const kept = { ...(id !== "" && { id }), ...(signature !== "" && { signature }) };
    const seal = sealOf(kept, this.#options.modelId);
    this.#out.push({ type: "block-start", index, block: { type: "tool-input", name, seal } });
    if (call["args"] !== undefined) this.#out.delta(index, JSON.stringify(input));
    const callId = id === "" ? `call_${this.#calls}` : id;
    this.#calls++;
    this.#out.end(index, { type: "tool-call", callId, name, input, by: "capstan", seal });
  }

  #file(blob: JsonObject, signature: string): void {
    this.#endOpen(undefined);
    const base64 = stringOf(blob["data"]);
    this.#whole({ type: "file", mediaType: stringOf(blob["mimeType"]), data: { type: "base64", base64 } });
    if (signature !== "") this.#whole(signaturePart(this.#options.modelId, { signature, tail: 0, of: "file" }));
  }

  /** Counts are cumulative: a later one replaces an earlier one. */
  #addUsage(usage: Json | undefined): void {
    if (isObject(usage)) this.#usage = { ...this.#usage, ...usage };
  }
}

/** The prompt's count holds what the cache gave; thoughts are not in the candidates' count. */
function toUsage(counts: JsonObject): Usage {
  const cached = countOf(counts["cachedContentTokenCount"]);
  const prompt = countOf(counts["promptTokenCount"]) + countOf(counts["toolUsePromptTokenCount"]);
  const thoughts = countOf(counts["thoughtsTokenCount"]);
  return {
    inputTokens: Math.max(0, prompt - cached),
    outputTokens: countOf(counts["candidatesTokenCount"]) + thoughts,
    cacheReadTokens: cached,
    ...(thoughts > 0 && { reasoningTokens: thoughts }),
  };
}
