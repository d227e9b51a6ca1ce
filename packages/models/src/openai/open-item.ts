/** One output item of an answer while it arrives. Private to the decoder, which hands out its parts when it ends. */

import type { Json, ModelEvent, Part, Seal } from "@capstan/core";
import { type JsonObject, listOf, lookUp, memberOf, objectOf, parsedInput, stringOf } from "../provider/json.ts";
import { OPENAI } from "./content.ts";

export type OpenBlock = {
  /** Its place among the blocks of the message. */
  readonly index: number;
  text: string;
};

export type OpenItem = {
  /** `opaque`: a type that is not known here. It is kept whole and goes back as it came. */
  readonly kind: "message" | "reasoning" | "call" | "opaque";
  /** As it was announced. */
  readonly wire: JsonObject;
  /** Its blocks: the contents of a message by their number, else the one with number 0. */
  readonly blocks: Map<number, OpenBlock>;
  /** Which piece of the reasoning the newest delta belongs to. */
  section: string;
};

const KINDS: Readonly<Record<string, OpenItem["kind"]>> = {
  message: "message",
  reasoning: "reasoning",
  function_call: "call",
};
/** Between two pieces of one reasoning. */
const BREAK = "\n\n";

export function openItem(wire: JsonObject): OpenItem {
  return { kind: lookUp(KINDS, wire["type"]) ?? "opaque", wire, blocks: new Map(), section: "" };
}

/** How the block of an item is announced; undefined when nobody sees its content. */
export function shownAs({ kind, wire }: OpenItem): Extract<ModelEvent, { type: "block-start" }>["block"] | undefined {
  if (kind === "opaque") return undefined;
  if (kind === "call") return { type: "tool-input", name: stringOf(wire["name"]), seal: callSeal(wire) };
  return { type: kind === "reasoning" ? "reasoning" : "text" };
}

/** What a delta of this piece of the reasoning adds to its text. */
export function sectioned(item: OpenItem, section: string, delta: string): string {
  const fresh = item.section !== "" && item.section !== section;
  item.section = section;
  return fresh ? BREAK + delta : delta;
}

/** The text of a reasoning item that came without deltas. */
export function reasoningText(done: JsonObject): string {
  const pieces = [...listOf(done["summary"]), ...listOf(done["content"])];
  return pieces
    .map((piece) => stringOf(memberOf(piece, "text")))
    .filter((text) => text !== "")
    .join(BREAK);
}

/** `family` goes into the seal: only these models read it. An item that the API could not read again has no seal. */
export function reasoningPart(text: string, done: JsonObject, family: string): Part {
  const readable = stringOf(done["encrypted_content"]) !== "" || listOf(done["content"]).length > 0;
  if (!readable) return { type: "reasoning", text };
  const { status: _status, ...item } = done;
  return { type: "reasoning", text, seal: { provider: OPENAI.id, data: { model: family, item } } };
}

export function callPart(text: string, done: JsonObject): Part {
  const seal = callSeal(done);
  const callId = stringOf(memberOf(seal.data, "id"));
  return { type: "tool-call", callId, name: stringOf(done["name"]), input: parsedInput(text), by: "capstan", seal };
}

/** What a message says of itself beside its texts; undefined when that is nothing that must go back. */
export function messageMark(done: JsonObject): Part | undefined {
  const phase = stringOf(done["phase"]);
  if (phase === "") return undefined;
  return { type: "opaque", seal: { provider: OPENAI.id, data: { phase, id: stringOf(done["id"]) } } };
}

export function opaquePart(done: JsonObject, family: string): Part {
  return { type: "opaque", seal: { provider: OPENAI.id, data: { model: family, item: done } } };
}

/** The texts of a message's contents; a refusal is what the model said. */
export function contentTexts(done: JsonObject): readonly { readonly text: string; readonly refusal: boolean }[] {
  return listOf(done["content"]).map((content) => {
    const refusal = memberOf(content, "type") === "refusal";
    return { text: stringOf(memberOf(content, refusal ? "refusal" : "text")), refusal };
  });
}

/** The two ids of the call, and whatever else its item says beside name and arguments. */
function callSeal(wire: JsonObject): Seal {
  const { type: _type, name: _name, arguments: _arguments, status: _status, call_id, id, ...rest } = wire;
  const item = stringOf(id);
  const extra: { [name: string]: Json } = {};
  for (const [name, value] of Object.entries(rest)) if (value !== null) extra[name] = value;
  if (memberOf(objectOf(extra["caller"]), "type") === "direct") delete extra["caller"];
  return {
    provider: OPENAI.id,
    data: {
      id: stringOf(call_id) === "" ? item : stringOf(call_id),
      ...(item !== "" && { item }),
      ...(Object.keys(extra).length > 0 && { extra }),
    },
  };
}
