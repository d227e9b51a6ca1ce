/** Which parts may stand in a message of a role. Pure. */

import type { Message, Part } from "@capstan/core";
import { isBlank } from "../wire-text.ts";
import type { Note } from "./draft.ts";

const PLACES: Readonly<Record<Message["role"], readonly Part["type"][]>> = {
  system: ["text"],
  user: ["text", "file", "tool-result", "opaque"],
  assistant: ["text", "file", "tool-call", "tool-result", "reasoning", "source", "opaque"],
};
/** What pages add to messages of people. Other opaque parts are the assistant's. */
const PAGE = "ai-sdk-ui";

/** The parts that fit. Empty texts and thoughts without a seal or a word say nothing and are left out in silence. */
export function placeParts(role: Message["role"], parts: readonly Part[], note: Note): readonly Part[] {
  return parts.flatMap((part) => {
    if (saysNothing(part)) return [];
    const foreign = part.type === "opaque" && role === "user" && part.seal.provider !== PAGE;
    if (!PLACES[role].includes(part.type) || foreign) {
      note("part-misplaced", `${part.type} in a message of role ${role}`);
      return [];
    }
    return [part.type === "tool-call" ? named(part, note) : part];
  });
}

function saysNothing(part: Part): boolean {
  if (part.type === "text") return isBlank(part.text);
  return part.type === "reasoning" && part.seal === undefined && isBlank(part.text);
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** No provider takes a call under a name that no tool could have. */
function named<Call extends { readonly name: string }>(call: Call, note: Note): Call {
  if (NAME.test(call.name)) return call;
  note("name-invalid", JSON.stringify(call.name.slice(0, 80)));
  const name = call.name.replaceAll(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 64);
  return { ...call, name: name === "" ? "unknown" : name };
}

/** Whether every provider finds something to read in it. */
export function isEmpty(parts: readonly Part[]): boolean {
  return !parts.some((part) => part.type !== "opaque" && part.type !== "source");
}
