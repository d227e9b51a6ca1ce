/** One content block of an answer while it arrives. Private to the decoder, which hands out the part when it ends. */

import type { Json, ModelEvent, Part, Seal } from "@capstan/core";
import { isObject, lookUp, memberOf, objectOf, parsedInput, stringOf } from "../provider/json.ts";
import { ANTHROPIC } from "./blocks.ts";

export type OpenBlock = {
  /** Its place among the blocks of the message. */
  readonly index: number;
  /** `opaque`: a type that is not known here. It is kept whole and goes back as it came. */
  readonly kind: "text" | "thinking" | "redacted" | "tool-use" | "opaque";
  /** How it is announced; undefined when nobody sees its content. */
  readonly shown: Extract<ModelEvent, { type: "block-start" }>["block"] | undefined;
  /** What the provider sent so far; members grow with the deltas. */
  readonly wire: { [name: string]: Json };
  /** Text, thinking, or the raw JSON of a tool's input. */
  text: string;
};

const KINDS: Readonly<Record<string, OpenBlock["kind"]>> = {
  text: "text",
  thinking: "thinking",
  redacted_thinking: "redacted",
  tool_use: "tool-use",
};

export function openBlock(index: number, start: Json | undefined): OpenBlock {
  const wire = isObject(start) ? { ...start } : {};
  const kind = lookUp(KINDS, wire["type"]) ?? "opaque";
  const text = kind === "text" ? stringOf(wire["text"]) : kind === "thinking" ? stringOf(wire["thinking"]) : "";
  return { index, kind, wire, text, shown: shownOf(kind, wire) };
}

function shownOf(kind: OpenBlock["kind"], wire: OpenBlock["wire"]): OpenBlock["shown"] {
  if (kind === "opaque") return undefined;
  if (kind === "tool-use") return { type: "tool-input", name: stringOf(wire["name"]), seal: callSeal(wire) };
  return { type: kind === "text" ? "text" : "reasoning" };
}

/** A delta of text: the kind of block that shows it, its type, and the member that holds the text. */
export type TextDelta = {
  readonly kind: "text" | "thinking" | "tool-use";
  readonly type: string;
  readonly member: string;
};
export const TEXT_DELTAS: readonly TextDelta[] = [
  { kind: "text", type: "text_delta", member: "text" },
  { kind: "thinking", type: "thinking_delta", member: "thinking" },
  { kind: "tool-use", type: "input_json_delta", member: "partial_json" },
];

/** False: it is not what this block shows. */
export function addText(block: OpenBlock, { kind, member }: TextDelta, text: string): boolean {
  if (block.kind === kind) {
    block.text += text;
    return true;
  }
  if (block.kind === "opaque") {
    if (kind === "tool-use") block.text += text;
    else append(block, member, text);
  }
  return false;
}

/** Takes any other delta; unknown ones are ignored. */
export function addOther(block: OpenBlock, delta: Json | undefined): void {
  const type = memberOf(delta, "type");
  if (type === "citations_delta" && block.kind === "opaque") {
    const before = block.wire["citations"];
    block.wire["citations"] = [...(Array.isArray(before) ? before : []), memberOf(delta, "citation") ?? null];
  }
  if (type !== "signature_delta" && type !== "compaction_delta") return;
  for (const name of ["signature", "content", "encrypted_content"]) append(block, name, memberOf(delta, name));
}

function append(block: OpenBlock, name: string, value: Json | undefined): void {
  if (typeof value === "string") block.wire[name] = stringOf(block.wire[name]) + value;
}

/** The whole part. `modelId` goes into the seal of thinking. */
export function endBlock(block: OpenBlock, modelId: string): Part {
  const { kind, wire, text } = block;
  switch (kind) {
    case "text":
      return { type: "text", text };
    case "thinking": {
      const signature = stringOf(wire["signature"]);
      if (signature === "") return { type: "reasoning", text };
      return { type: "reasoning", text, seal: { provider: ANTHROPIC.id, data: { signature, model: modelId } } };
    }
    case "redacted": {
      const data = { redacted: stringOf(wire["data"]), model: modelId };
      return { type: "reasoning", text: "", seal: { provider: ANTHROPIC.id, data } };
    }
    case "tool-use": {
      const input = text.trim() === "" ? objectOf(wire["input"]) : parsedInput(text);
      const callId = stringOf(wire["id"]);
      return { type: "tool-call", callId, name: stringOf(wire["name"]), input, by: "capstan", seal: callSeal(wire) };
    }
    case "opaque":
      if (text !== "") wire["input"] = parsedInput(text);
      return { type: "opaque", seal: { provider: ANTHROPIC.id, data: wire } };
    default:
      return kind satisfies never;
  }
}

/** The provider's id of the call, and whatever else its block says beside name and input. */
function callSeal(wire: OpenBlock["wire"]): Seal {
  const { type: _type, name: _name, input: _input, id = "", caller, ...rest } = wire;
  const extra = memberOf(caller, "type") === "direct" || caller === undefined ? rest : { ...rest, caller };
  return { provider: ANTHROPIC.id, data: Object.keys(extra).length === 0 ? { id } : { id, extra } };
}
