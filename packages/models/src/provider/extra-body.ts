/** Members of people's own in the body of a request: one rule for every provider. Pure. */

import type { Json } from "@capstan/core";
import { isObject, type JsonObject, listOf, objectOf } from "./json.ts";

/**
 * `over` into `under`: objects are merged member by member at every depth, everything else replaces what was there. An
 * object of another `type` is another thing, which replaces the old one too.
 */
export function merged(under: JsonObject, over: JsonObject): JsonObject {
  const added = Object.entries(over).map(([name, value]): readonly [string, Json] => {
    const before = Object.hasOwn(under, name) ? under[name] : undefined;
    return [name, isObject(before) && isObject(value) && goTogether(before, value) ? merged(before, value) : value];
  });
  return Object.fromEntries([...Object.entries(under), ...added]); // a member named __proto__ stays a member
}

/** What `extraBody` of the options and of the request's settings say together; the settings win. */
export function extraBodyOf(options: Json | undefined, settings: Json | undefined): ExtraBody {
  const { tools, ...members } = merged(objectOf(options), objectOf(settings));
  return { members, tools: listOf(tools) };
}

/** `tools` stand behind those of the request: an agent's own are never taken away. */
export type ExtraBody = { readonly members: JsonObject; readonly tools: readonly Json[] };

function goTogether(before: JsonObject, value: JsonObject): boolean {
  return before["type"] === undefined || value["type"] === undefined || before["type"] === value["type"];
}
