/** The stream parts of AI SDK models (V2, V3, V4) as model events. Pure; one decoder a response. */

import type { Json, ModelEvent, Part, Price, Seal } from "@capstan/core";
import { bytesMember, plainPart } from "../convert/plain-json.ts";
import { withCost } from "../price.ts";
import { type ProviderName, protocolError } from "../provider/errors.ts";
import { EventBatch } from "../provider/event-batch.ts";
import { isObject, type JsonObject, listOf, memberOf, objectOf, parsedInput, stringOf } from "../provider/json.ts";
import { endingOf, usageOf } from "./usage.ts";

export type DecoderOptions = {
  readonly provider: ProviderName;
  readonly modelId: string;
  /** Name of our seals: only the same model gets them back. */
  readonly sealedBy: string;
  readonly price: Price | undefined;
  /** The typed error of an `error` part. */
  readonly toError: (error: unknown) => Error;
  /** Called for each thing that the provider says it did not do. */
  readonly warn: (warning: string) => void;
};

export interface AiDecoder {
  /** Events of the parts that were at hand together. Throws for an error part and for what breaks the protocol. */
  push(parts: readonly unknown[]): readonly ModelEvent[];
  readonly finished: boolean;
}

type Open = {
  readonly index: number;
  readonly kind: "text" | "reasoning" | "tool-input";
  readonly name: string;
  text: string;
  /** State of the provider, collected from every part of the block. */
  metadata: JsonObject;
};

export function aiDecoder(options: DecoderOptions): AiDecoder {
  return new Decoder(options);
}

class Decoder implements AiDecoder {
  readonly #options: DecoderOptions;
  /** By kind and id: providers use one id for blocks of different kinds. */
  readonly #open = new Map<string, Open>();
  readonly #sources = new Set<string>();
  #blocks = 0;
  #calls = 0;
  #started = false;
  #meta: { readonly model?: string; readonly responseId?: string } = {};
  readonly #out = new EventBatch();
  finished = false;

  constructor(options: DecoderOptions) {
    this.#options = options;
  }

  push(parts: readonly unknown[]): readonly ModelEvent[] {
    for (const part of parts) {
      if (this.finished) break;
      this.#read(part);
    }
    return this.#out.take();
  }

  #read(given: unknown): void {
    const type = typeof given === "object" && given !== null && "type" in given ? given.type : undefined;
    if (type === "error") throw this.#options.toError((given as { readonly error?: unknown }).error);
    const part = plainPart(given);
    switch (type) {
      case "stream-start":
        for (const warning of listOf(part["warnings"])) this.#options.warn(warningText(warning));
        return;
      case "response-metadata":
        return this.#metadata(part);
      case "text-start":
      case "reasoning-start":
      case "tool-input-start":
        return void this.#start(kindOf(type), part);
      case "text-delta":
      case "reasoning-delta":
      case "tool-input-delta":
        return this.#delta(kindOf(type), part);
      case "text-end":
      case "reasoning-end":
        return this.#end(kindOf(type), part);
      case "tool-input-end":
        return; // the call follows with the whole input
      case "tool-call":
        return this.#call(part);
      case "finish":
        return this.#finish(part);
      default:
        return this.#readOther(type, part);
    }
  }

  #readOther(type: unknown, part: JsonObject): void {
    switch (type) {
      case "tool-result":
        return part["preliminary"] === true ? undefined : this.#opaque(resultOf(part), part);
      case "custom":
        return this.#opaque({ type, kind: part["kind"] ?? "" }, part);
      case "reasoning-file":
        return this.#opaque({ type, mediaType: part["mediaType"] ?? "", ...bytesMember(part["data"]) }, part);
      case "file":
        return this.#file(part);
      case "source":
        return this.#source(part);
      case "reset-step":
        throw this.#protocol("took its answer back", true);
      case "tool-approval-request":
        throw this.#protocol("asks for approval of a tool that it runs itself, which cannot be given here", false);
      default: // ping, raw, and what a version may add
    }
  }

  #metadata(part: JsonObject): void {
    const { id, modelId } = part;
    this.#meta = {
      ...this.#meta,
      ...(typeof id === "string" && { responseId: id }),
      ...(typeof modelId === "string" && modelId !== "" && { model: modelId }),
    };
  }

  /** The names of the answer come in a part of their own, if at all: the beginning waits for the first content. */
  #begin(): void {
    if (this.#started) return;
    this.#started = true;
    this.#out.push({ type: "start", model: this.#options.modelId, ...this.#meta });
  }

  #start(kind: Open["kind"], part: JsonObject): Open {
    this.#begin();
    const id = `${kind} ${stringOf(part["id"])}`;
    if (this.#open.has(id)) throw this.#protocol(`opened block ${id} twice`, true);
    const name = stringOf(part["toolName"]);
    const open: Open = { index: this.#blocks++, kind, name, text: "", metadata: {} };
    this.#open.set(id, open);
    addMetadata(open, part);
    const block =
      kind === "tool-input" ? { type: kind, name, seal: this.#seal({ id: part["id"] ?? "" }) } : { type: kind };
    this.#out.push({ type: "block-start", index: open.index, block });
    return open;
  }

  #delta(kind: Open["kind"], part: JsonObject): void {
    const open = this.#open.get(`${kind} ${stringOf(part["id"])}`);
    if (open === undefined) throw this.#protocol("sent a piece of a block that is not open", true);
    addMetadata(open, part);
    this.#show(open, stringOf(part["delta"]));
  }

  #show(open: Open, delta: string): void {
    if (delta === "") return;
    open.text += delta;
    this.#out.delta(open.index, delta);
  }

  #end(kind: Open["kind"], part: JsonObject): void {
    const id = `${kind} ${stringOf(part["id"])}`;
    const open = this.#open.get(id);
    if (open === undefined) throw this.#protocol("ended a block that is not open", true);
    this.#open.delete(id);
    addMetadata(open, part);
    const { index, text, metadata } = open;
    if (kind === "reasoning") {
      return this.#out.end(index, { type: kind, text, seal: this.#seal(metadata) });
    }
    this.#out.end(index, { type: "text", text });
    this.#keepState(metadata);
    for (const citation of listOf(part["citations"])) this.#source(objectOf(memberOf(citation, "source")));
  }

  #call(part: JsonObject): void {
    const toolCallId = stringOf(part["toolCallId"]);
    const key = `tool-input ${toolCallId}`;
    const named = { id: toolCallId, toolName: part["toolName"] ?? "" };
    const text = typeof part["input"] === "string" ? part["input"] : JSON.stringify(part["input"] ?? {});
    let open = this.#open.get(key);
    if (open === undefined) {
      open = this.#start("tool-input", named);
      this.#show(open, text);
    }
    this.#open.delete(key);
    addMetadata(open, part);
    const byProvider = part["providerExecuted"] === true;
    if (!byProvider) this.#calls++;
    const metadata = Object.keys(open.metadata).length === 0 ? {} : { metadata: open.metadata };
    this.#out.end(open.index, {
      type: "tool-call",
      callId: toolCallId,
      name: stringOf(named.toolName) || open.name,
      input: parsedInput(text),
      by: byProvider ? "provider" : "capstan",
      seal: this.#seal({ id: toolCallId, ...metadata }),
    });
  }

  #file(part: JsonObject): void {
    const { base64, url } = bytesMember(part["data"]);
    const mediaType = stringOf(part["mediaType"]) || "application/octet-stream";
    if (base64 === undefined && url === undefined) throw this.#protocol("sent a file without its bytes", true);
    const data = url === undefined ? { type: "base64" as const, base64: base64 ?? "" } : { type: "url" as const, url };
    this.#put({ type: "file", mediaType, data });
    this.#keepState(objectOf(part["providerMetadata"]));
  }

  #source(part: JsonObject): void {
    const { id, url, title } = part;
    if (typeof id !== "string" || this.#sources.has(id)) return;
    this.#sources.add(id);
    this.#put({
      type: "source",
      id,
      ...(typeof url === "string" && { url }),
      ...(typeof title === "string" && { title }),
    });
  }

  /** Parts of text and files have no seal: what the provider wants back with them is kept right behind them. */
  #keepState(metadata: JsonObject): void {
    if (Object.keys(metadata).length > 0) this.#opaque({ type: "metadata" }, { providerMetadata: metadata });
  }

  #opaque(data: JsonObject, part: JsonObject): void {
    const metadata = part["providerMetadata"];
    this.#put({ type: "opaque", seal: this.#seal({ ...data, ...(isObject(metadata) && { metadata }) }) });
  }

  #put(part: Part): void {
    this.#begin();
    this.#out.end(this.#blocks++, part);
  }

  #finish(part: JsonObject): void {
    this.#begin();
    if (this.#open.size > 0) throw this.#protocol("ended the answer inside a block", true);
    const { reason, rawReason } = endingOf(part["finishReason"], this.#calls > 0);
    if (reason === undefined) throw this.#protocol("lost the end of the answer on its way", true);
    this.finished = true;
    const usage = withCost(usageOf(part["usage"], this.#options.provider.id), this.#options.price);
    this.#out.push({ type: "finish", reason, ...(rawReason !== undefined && { rawReason }), usage });
  }

  #seal(data: Json): Seal {
    return { provider: this.#options.sealedBy, data };
  }

  #protocol(what: string, retryable: boolean): Error {
    return protocolError(this.#options.provider, what, { retryable });
  }
}

function kindOf(type: string): Open["kind"] {
  return type.startsWith("tool-input") ? "tool-input" : type.startsWith("text") ? "text" : "reasoning";
}

/** Later state wins by provider and name: signatures come with the end of a block. */
function addMetadata(open: Open, part: JsonObject): void {
  const added = objectOf(part["providerMetadata"]);
  for (const [provider, state] of Object.entries(added)) {
    open.metadata = { ...open.metadata, [provider]: { ...objectOf(open.metadata[provider]), ...objectOf(state) } };
  }
}

function resultOf(part: JsonObject): JsonObject {
  const { toolCallId = "", toolName = "", result = null, isError } = part;
  return { type: "tool-result", toolCallId, toolName, result, ...(isError === true && { isError }) };
}

function warningText(warning: Json): string {
  const said = [
    memberOf(warning, "type"),
    memberOf(warning, "feature") ?? memberOf(warning, "setting"),
    memberOf(warning, "details") ?? memberOf(warning, "message"),
  ];
  return said
    .map(stringOf)
    .filter((word) => word !== "")
    .join(": ");
}
