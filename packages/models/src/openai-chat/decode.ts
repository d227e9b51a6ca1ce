/** The chunks of a chat completion (protocols.md sections 2.2 and 2.3) as model events. Pure; one decoder a response. */

import type { Json, ModelEvent, TurnReason } from "@capstan/core";
import { withCost } from "../price.ts";
import { protocolError, type ProviderName } from "../provider/errors.ts";
import { EventBatch, parseEvent } from "../provider/event-batch.ts";
import type { AnswerOptions } from "../provider/http-model.ts";
import type { StreamDecoder } from "../provider/http-stream.ts";
import { isObject, type JsonObject, listOf, lookUp, memberOf, stringOf } from "../provider/json.ts";
import type { SseEvent } from "../sse.ts";
import { AnswerBlocks } from "./answer-blocks.ts";
import type { ChatDialect } from "./dialect.ts";
import { PlainDeltas } from "./plain-delta.ts";
import { detailsText } from "./reasoning-details.ts";
import { toUsage } from "./usage.ts";

/** The price counts where the server does not say what the call cost. */
export type DecoderOptions = AnswerOptions & {
  readonly provider: ProviderName;
  readonly dialect: Pick<ChatDialect, "reasoningOut" | "costInUsage">;
};

const REASONS: Readonly<Record<string, TurnReason>> = {
  stop: "stop",
  tool_calls: "stop", // with calls it is "tool-calls"
  function_call: "stop",
  eos: "stop", // what open models and the servers in front of other protocols say
  eos_token: "stop",
  stop_sequence: "stop",
  end_turn: "stop",
  tool_use: "stop",
  length: "length",
  max_tokens: "length",
  content_filter: "content-filter",
  error: "error",
  insufficient_system_resource: "error",
};

export function chatDecoder(options: DecoderOptions): StreamDecoder {
  return new Decoder(options);
}

class Decoder implements StreamDecoder {
  readonly #options: DecoderOptions;
  readonly #blocks: AnswerBlocks;
  readonly #plain = new PlainDeltas();
  readonly #out = new EventBatch();
  #usage: Json | undefined;
  #rawReason: string | undefined;
  #refused = false;
  finished = false;
  started = false;

  constructor(options: DecoderOptions) {
    this.#options = options;
    const { provider, modelId, dialect } = options;
    const sealed = dialect.reasoningOut !== "none";
    this.#blocks = new AnswerBlocks({ provider: provider.id, modelId, sealed, out: this.#out });
  }

  push(events: readonly SseEvent[]): readonly ModelEvent[] {
    for (const { event, data } of events) {
      if (this.finished) break;
      const text = this.#plain.read(data);
      if (text === undefined) this.#read(event, data);
      else this.#blocks.addText(this.#plain.member === "content" ? "text" : "reasoning", text);
    }
    return this.#out.take();
  }

  /** Not every server says `[DONE]`; a body that ends before a finish reason was cut. */
  end(): readonly ModelEvent[] {
    if (!this.finished) this.#finish();
    return this.#out.take();
  }

  #read(name: string | undefined, data: string): void {
    if (data.trim() === "[DONE]") return this.#finish();
    if (name === "error") throw this.#options.toError(data);
    const chunk = parseEvent(this.#options.provider, data);
    if (!isObject(chunk)) return;
    if (isSaid(chunk["error"]) || chunk["object"] === "error") throw this.#options.toError(data);
    const { choices } = chunk;
    if (!Array.isArray(choices) && !isObject(chunk["usage"])) return; // not of this protocol
    this.#start(chunk);
    this.#usage = [chunk["usage"], memberOf(chunk["x_groq"], "usage")].find(isObject) ?? this.#usage;
    const choice = listOf(choices).find((item) => (memberOf(item, "index") ?? 0) === 0);
    if (!isObject(choice)) return;
    if (isSaid(choice["error"])) throw this.#options.toError(JSON.stringify({ error: choice["error"] }));
    this.#addDelta(choice["delta"] ?? choice["message"]); // some servers send the whole message as one event
    const reason = stringOf(choice["finish_reason"]);
    if (reason !== "") this.#rawReason = reason;
    this.#plain.learn(data, chunk);
  }

  #start(chunk: JsonObject): void {
    if (this.started) return;
    this.started = true;
    this.#out.start(this.#options.modelId, chunk["model"], chunk["id"]);
  }

  #addDelta(delta: Json | undefined): void {
    const details = listOf(memberOf(delta, "reasoning_details"));
    if (this.#options.dialect.reasoningOut === "reasoning_details") this.#blocks.addDetails(details);
    // Servers say the same reasoning in several members: only one of them counts.
    const thoughts = [memberOf(delta, "reasoning"), memberOf(delta, "reasoning_content")].map(stringOf);
    this.#blocks.addText("reasoning", thoughts.find((text) => text !== "") ?? detailsText(details));
    this.#blocks.addText("text", textOf(memberOf(delta, "content")));
    const refusal = stringOf(memberOf(delta, "refusal"));
    if (refusal !== "") this.#refused = true;
    this.#blocks.addText("text", refusal);
    for (const call of listOf(memberOf(delta, "tool_calls"))) this.#blocks.addCall(call);
    const called = memberOf(delta, "function_call");
    if (isObject(called)) this.#blocks.addCall({ index: -1, function: called });
  }

  #finish(): void {
    const raw = this.#rawReason;
    if (raw === undefined) return;
    const reason = this.#reasonOf(raw);
    if (reason === "tool-calls" && this.#blocks.nameless)
      throw protocolError(this.#options.provider, "sent a call without a name", { retryable: true });
    this.#blocks.end();
    this.finished = true;
    const usage = toUsage(this.#usage, this.#options.dialect.costInUsage);
    const priced = usage.costMicroUsd === undefined ? withCost(usage, this.#options.price) : usage;
    this.#out.push({ type: "finish", reason, rawReason: raw, usage: priced });
  }

  /** A forced call ends with `stop`, at OpenAI too. */
  #reasonOf(raw: string): TurnReason {
    const reason = lookUp(REASONS, raw) ?? "other";
    if (reason !== "stop") return reason;
    if (this.#blocks.calls > 0) return "tool-calls";
    return this.#refused ? "refusal" : "stop";
  }
}

function isSaid(value: Json | undefined): boolean {
  return value !== undefined && value !== null;
}

/** Content is a text, at some servers a list of parts. */
function textOf(content: Json | undefined): string {
  if (!Array.isArray(content)) return stringOf(content);
  return listOf(content)
    .map((part) => stringOf(memberOf(part, "text")))
    .join("");
}
