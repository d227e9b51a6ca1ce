/** OpenRouter's `reasoning_details`: put together from their deltas, and sent back whole and in order. Pure. */

import type { Json } from "@capstan/core";
import { isObject, type JsonObject, lookUp, stringOf } from "../provider/json.ts";

/** The member of a detail that grows with the deltas. */
const GROWING: Readonly<Record<string, string>> = { "reasoning.text": "text", "reasoning.summary": "summary" };

/** Adds what a delta brought: to the last detail when it goes on with it, else as a detail of its own. */
export function addDetails(details: JsonObject[], deltas: readonly Json[]): void {
  for (const delta of deltas) {
    if (!isObject(delta)) continue;
    const last = details.at(-1);
    if (last === undefined || !goesOn(last, delta)) details.push(delta);
    else details.splice(-1, 1, merged(last, delta));
  }
}

/** What of the details the model may see again: Claude refuses thinking without its signature. */
export function sendableDetails(details: readonly JsonObject[]): readonly JsonObject[] {
  return details.filter(
    ({ type, format, signature }) =>
      type !== "reasoning.text" || !stringOf(format).startsWith("anthropic") || stringOf(signature) !== "",
  );
}

/** What people read of a delta's details. */
export function detailsText(deltas: readonly Json[]): string {
  return deltas.map((delta) => (isObject(delta) ? stringOf(delta[growing(delta)]) : "")).join("");
}

function goesOn(last: JsonObject, delta: JsonObject): boolean {
  const same = (name: string): boolean =>
    (last[name] ?? null) === null || (delta[name] ?? null) === null || last[name] === delta[name];
  const whole = stringOf(last["signature"]) !== "" && stringOf(delta[growing(delta)]) !== "";
  return growing(last) !== "" && last["type"] === delta["type"] && same("index") && same("id") && !whole;
}

function merged(last: JsonObject, delta: JsonObject): JsonObject {
  const told = Object.entries(delta).filter(([, value]) => value !== null);
  const name = growing(last);
  return { ...last, ...Object.fromEntries(told), [name]: stringOf(last[name]) + stringOf(delta[name]) };
}

function growing(detail: JsonObject): string {
  return lookUp(GROWING, detail["type"]) ?? "";
}
