/** Which JSON Schemas OpenAI's strict mode takes (its guide to structured outputs): closed objects that require all they name. */

import type { Json } from "@capstan/core";
import { isObject, listOf, memberOf } from "./json.ts";

const LISTS = ["anyOf", "prefixItems"] as const;
const MAPS = ["properties", "$defs", "definitions"] as const;
const REFUSED = ["oneOf", "allOf", "not", "if", "patternProperties", "dependentRequired", "dependentSchemas"] as const;

/** A schema that is not strict is still sent, but then the provider does not enforce it. */
export function isStrictSchema(schema: Json): boolean {
  return memberOf(schema, "type") === "object" && isStrict(schema);
}

function isStrict(schema: Json | undefined): boolean {
  if (schema === undefined) return true;
  if (!isObject(schema) || REFUSED.some((name) => name in schema)) return false;
  if (!isClosed(schema)) return false;
  const inner = [
    ...LISTS.flatMap((name) => listOf(schema[name])),
    ...MAPS.flatMap((name) => Object.values(schema[name] ?? {})),
  ];
  return isStrict(schema["items"]) && inner.every((member) => isStrict(member));
}

function isClosed(schema: { readonly [name: string]: Json }): boolean {
  const isObjects = schema["type"] === "object" || listOf(schema["type"]).includes("object");
  if (!isObjects && schema["properties"] === undefined) return true;
  const required = listOf(schema["required"]);
  const names = Object.keys(schema["properties"] ?? {});
  return schema["additionalProperties"] === false && names.every((name) => required.includes(name));
}
