/** Core's check of a value against JSON Schema, as a list of what is wrong. */

import { type Json, jsonSchema } from "@capstan/core";

export type { Json };
export type JsonIssue = { readonly path: readonly PropertyKey[]; readonly message: string };

export function jsonIssues(schema: Json, value: Json): readonly JsonIssue[] {
  const result = jsonSchema(schema)["~standard"].validate(value);
  if ("then" in result || result.issues === undefined) return []; // it answers at once
  return result.issues.map(({ message, path = [] }) => ({
    message,
    path: path.map((part) => (typeof part === "object" ? part.key : part)),
  }));
}
