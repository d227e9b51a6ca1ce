/** Makes a value fit a JSON Schema where that loses nothing: "5" as a number, one thing as a list of it. Pure. */

import { type Json, jsonSchema } from "@capstan/core";

type JsonObject = { readonly [key: string]: Json };
type Path = readonly (string | number)[];
export type Coercion = { readonly path: string; readonly from: Json; readonly to: Json };
export type Coerced = { readonly value: Json; readonly changes: readonly Coercion[] };
/** The schema that `$ref`s are looked up in, what may be changed, and what was. */
type Walk = {
  readonly root: JsonObject;
  readonly may: (change: Coercion) => boolean;
  changes: Coercion[];
  steps: number;
};

const MAX_DEPTH = 50;
/** Forms within forms multiply: what needs more looks than this stays as it is. */
const MAX_STEPS = 5_000;
const NUMBER = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/** Nothing when the value fits as it is, or cannot be made to fit. */
export function coerceValue(
  schema: Json,
  value: Json,
  may: (change: Coercion) => boolean = () => true,
): Coerced | undefined {
  if (!isObject(schema) || fits(schema, schema, value)) return undefined;
  const walk: Walk = { root: schema, may, changes: [], steps: 0 };
  const made = visit(walk, schema, value, []);
  return walk.changes.length > 0 && fits(schema, schema, made) ? { value: made, changes: walk.changes } : undefined;
}

function visit(walk: Walk, given: Json, value: Json, path: Path): Json {
  walk.steps += 1;
  if (walk.steps > MAX_STEPS) return value;
  const schema = resolved(walk.root, given);
  if (!isObject(schema) || path.length > MAX_DEPTH || fits(walk.root, schema, value)) return value;
  const branches = [schema["anyOf"], schema["oneOf"]].find((list) => Array.isArray(list));
  if (Array.isArray(branches)) return firstFitting(walk, branches as readonly Json[], value, path);
  const types = [schema["type"] ?? []].flat();
  if (types.some((type) => isOfType(type, value))) return members(walk, schema, value, path);
  for (const type of types) {
    const to = converted(type, value);
    if (to === undefined) continue;
    const change = { path: path.join("."), from: value, to };
    if (!walk.may(change)) continue;
    const before = walk.changes;
    walk.changes = [...before, change];
    const made = members(walk, schema, to, path);
    if (fits(walk.root, schema, made)) return made;
    walk.changes = before;
  }
  return value;
}

/** The first form that the value can be given. */
function firstFitting(walk: Walk, branches: readonly Json[], value: Json, path: Path): Json {
  const before = walk.changes;
  for (const branch of branches) {
    const made = visit(walk, branch, value, path);
    if (fits(walk.root, branch, made)) return made;
    walk.changes = before;
  }
  return value;
}

function members(walk: Walk, schema: JsonObject, value: Json, path: Path): Json {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return value;
    return (value as readonly Json[]).map((item, index) => visit(walk, items, item, [...path, index]));
  }
  if (!isObject(value)) return value;
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const own = Object.hasOwn(properties, name) ? properties[name] : schema["additionalProperties"];
      return [name, own === undefined ? member : visit(walk, own, member, [...path, name])];
    }),
  );
}

/** The value as one of this type, when it says the same. */
function converted(type: Json, value: Json): Json | undefined {
  switch (type) {
    case "number":
      return numberIn(value);
    case "integer": {
      const number = numberIn(value);
      return Number.isSafeInteger(number) ? number : undefined;
    }
    case "boolean": {
      const word = typeof value === "string" ? value.trim().toLowerCase() : "";
      return word === "true" ? true : word === "false" ? false : undefined;
    }
    case "null":
      return value === "null" ? null : undefined;
    case "string":
      return isExact(value) || typeof value === "boolean" ? String(value) : undefined;
    case "object": {
      const parsed = parsedJson(value);
      return isObject(parsed) ? parsed : undefined;
    }
    case "array": {
      const parsed = parsedJson(value);
      return Array.isArray(parsed) ? parsed : value === null ? undefined : [value];
    }
    default:
      return undefined;
  }
}

/** Whole numbers beyond the safe ones have lost digits already: ids, as a rule. */
function isExact(value: Json): value is number {
  return typeof value === "number" && (Number.isSafeInteger(value) || !Number.isInteger(value));
}

function numberIn(value: Json): number | undefined {
  if (typeof value !== "string" || !NUMBER.test(value)) return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

function parsedJson(value: Json): Json | undefined {
  if (typeof value !== "string") return undefined;
  try {
    return JSON.parse(value) as Json; // parsed JSON
  } catch {
    return undefined;
  }
}

function isOfType(type: Json, value: Json): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "null") return value === null;
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

/** Checked as core checks it; a part of a schema is given the definitions of the whole. */
function fits(root: JsonObject, schema: Json, value: Json): boolean {
  const part = isObject(schema) ? { ...definitionsOf(root), ...schema } : schema;
  const result = jsonSchema(part)["~standard"].validate(value);
  return !(result instanceof Promise) && result.issues === undefined;
}

function definitionsOf({ $defs, definitions }: JsonObject): JsonObject {
  return { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) };
}

function resolved(root: JsonObject, schema: Json): Json {
  let found: Json = schema;
  for (let step = 0; step < MAX_DEPTH && isObject(found) && typeof found["$ref"] === "string"; step++) {
    const ref: string = found["$ref"];
    if (!ref.startsWith("#/")) return found;
    let target: Json | undefined = root;
    for (const name of ref.slice(2).split("/")) target = isObject(target) ? target[name] : undefined;
    if (target === undefined) return found;
    found = target;
  }
  return found;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
