/** Calls of tools in requests: their input, their id, and what the provider wants back with its own. */

import { type Json, type Seal, sha256, type ToolCallPart, type ToolSpec } from "@capstan/core";
import { isObject, type JsonObject } from "./json.ts";

/** What `provider` itself sealed. */
export function ownSeal(seal: Seal | undefined, provider: string): Json | undefined {
  return seal?.provider === provider ? seal.data : undefined;
}

/** An object, as all providers want it: the model may have written anything. */
export function inputOf({ input }: ToolCallPart): JsonObject {
  if (isObject(input)) return input;
  return input === null ? {} : { input };
}

/** An id that every provider takes, the same for a call and its result. */
export function derivedId(callId: string): string {
  return `call_${sha256(callId).slice(0, 24)}`;
}

/** Tools are encoded once for as long as the caller passes the same array. */
export function toolEncoder(encode: (tools: readonly ToolSpec[]) => string): (tools: readonly ToolSpec[]) => string {
  const known = new WeakMap<readonly ToolSpec[], string>();
  return (tools) => {
    const found = known.get(tools);
    if (found !== undefined) return found;
    const made = encode(tools);
    known.set(tools, made);
    return made;
  };
}
