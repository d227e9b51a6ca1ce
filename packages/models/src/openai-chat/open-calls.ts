/** Calls of an answer while they arrive: which delta goes on with which call. Private to the decoder. */

import type { Json } from "@capstan/core";
import { isObject, type JsonObject, memberOf, parseJson, stringOf } from "../provider/json.ts";

export type OpenCall = {
  /** The block of the message, once the call is announced: that is when its name is known. */
  block: number | undefined;
  readonly place: number | undefined;
  id: string;
  name: string;
  /** Arguments as they came. */
  text: string;
  /** Of these, what nobody was shown yet. */
  unseen: string;
  /** Members beside these that the server wants back with the call. */
  extra: JsonObject;
};

/** The call that a delta of `tool_calls` belongs to, opened if it is new, with what the delta says of it taken in. */
export function takeCallDelta(calls: OpenCall[], delta: Json): OpenCall {
  const place = memberOf(delta, "index");
  const id = stringOf(memberOf(delta, "id"));
  const called = memberOf(delta, "function");
  const name = stringOf(memberOf(called, "name"));
  let call = callOf(calls, typeof place === "number" ? place : undefined, id, name);
  if (call === undefined) {
    const at = typeof place === "number" ? place : undefined;
    call = { block: undefined, place: at, id, name: "", text: "", unseen: "", extra: {} };
    calls.push(call);
  }
  if (call.id === "") call.id = id;
  if (call.name === "") call.name = name;
  const given = memberOf(called, "arguments");
  const text = isObject(given) ? JSON.stringify(given) : stringOf(given); // some servers send arguments parsed
  call.text += text;
  call.unseen += text;
  const extra = memberOf(delta, "extra_content");
  if (isObject(extra)) call.extra = { extra_content: extra };
  return call;
}

/**
 * Some servers leave the index out, give every parallel call the index 0, or a new id to each delta of a call. A new call
 * begins with a name and another id; without ids, with a name after arguments that are whole.
 */
function callOf(calls: readonly OpenCall[], place: number | undefined, id: string, name: string): OpenCall | undefined {
  const named = id === "" ? undefined : calls.findLast((call) => call.id === id);
  if (named !== undefined && (place === undefined || named.place === place)) return named;
  const last = place === undefined ? calls.at(-1) : calls.findLast((call) => call.place === place);
  if (last === undefined || name === "" || last.name === "") return last;
  if (id !== "" && last.id !== "") return undefined;
  return isObject(parseJson(last.text)) ? undefined : last;
}
