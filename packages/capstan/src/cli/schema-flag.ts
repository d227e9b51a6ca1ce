/** `--schema`: the JSON Schema (draft 2020-12) of the answer, as a file or as the schema itself. */

import { CapstanError, type Json, jsonSchema, messageOf, type Schema } from "@capstan/core";
import { z } from "zod";
import { readJsonFile } from "./json-file.ts";

/** Takes what begins with `{` for the schema itself, else for a path. Throws `config-invalid`. */
export async function readSchema(given: string): Promise<Schema<Json>> {
  const inline = given.trimStart().startsWith("{");
  const where = inline ? "The schema" : given;
  const value = inline ? parsed(given) : await readJsonFile(given, z.unknown());
  if (value === undefined) throw invalid(where, "there is no such file; name one or write the schema itself");
  if (typeof value !== "object") throw invalid(where, "a schema is an object");
  const checked = schemaIn(value as Json).safeParse(value); // it was parsed as JSON
  if (checked.success) return jsonSchema(value as Json);
  const [issue] = checked.error.issues;
  const place = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.map(String).join(".")}: `;
  throw invalid(where, `no JSON Schema: ${place}${issue?.message ?? "it does not fit"}`);
}

const TYPE = z.enum(["string", "number", "integer", "boolean", "object", "array", "null"]);
const PATTERN = z.string().superRefine((text, context) => {
  try {
    RegExp(text, "u");
  } catch (error) {
    context.addIssue({ code: "custom", message: messageOf(error) });
  }
});

/** What the known keywords hold. Others are anything, as the standard says. */
function schemaIn(root: Json): z.ZodType {
  const one: z.ZodType = z.lazy(() => z.preprocess((value) => (typeof value === "boolean" ? {} : value), keywords));
  const type = z.union([TYPE, z.array(TYPE).min(1)], { error: `there are the types ${TYPE.options.join(", ")}` });
  const ref = z.string().refine((text) => leadsTo(root, text), "it leads to nothing in this schema");
  const keywords = z.looseObject({
    ...each("type", type),
    ...each("$ref", ref),
    ...each("pattern", PATTERN),
    ...each("enum", z.array(z.unknown()).min(1)),
    ...each("required", z.array(z.string())),
    ...each("$defs definitions properties patternProperties", z.record(z.string(), one)),
    ...each("allOf anyOf oneOf prefixItems", z.array(one).min(1)),
    ...each("items contains additionalProperties propertyNames not if then else", one),
    ...each("minLength maxLength minItems maxItems minProperties maxProperties", z.int().min(0)),
    ...each("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf", z.number()),
  });
  return keywords;
}

function each(names: string, schema: z.ZodType): { readonly [name: string]: z.ZodType } {
  return Object.fromEntries(names.split(" ").map((name) => [name, schema.exactOptional()]));
}

/** A JSON Pointer (RFC 6901) behind `#`: inside the schema only. */
function leadsTo(root: Json, ref: string): boolean {
  if (ref === "#") return true;
  if (!ref.startsWith("#/")) return false;
  let at: unknown = root;
  for (const part of ref.slice(2).split("/")) {
    const name = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return false;
    at = (at as { readonly [name: string]: unknown })[name]; // it has one
  }
  return true;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return ""; // no name of anything
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid("The schema", `not JSON: ${messageOf(cause)}`, cause);
  }
}

function invalid(where: string, why: string, cause?: unknown): CapstanError {
  return new CapstanError("config-invalid", `${where}: ${why}`, { cause });
}
