/** Checks a value against JSON Schema text: the part of draft 2020-12 that tools and outputs are written in. Own code, so that core depends on nothing. */

import { createContext, Script } from "node:vm";
import { canonicalJson, type Json } from "./json.ts";

type JsonObject = { readonly [key: string]: Json };
export type JsonIssue = { readonly path: readonly (string | number)[]; readonly message: string };

const MAX_ISSUES = 20;
/** A schema may refer to itself; a value deeper than this is refused. */
const MAX_DEPTH = 200;
/** Schemas inside each other, whether they speak of a member or of the same value again. */
const MAX_NESTED = 600;
/** Schemas looked at for one value, those of its members too: references can make a short schema a very large one. */
const MAX_STEPS = 100_000;
/** A pattern can take for ever, and nothing else is done meanwhile. One that takes longer ends the whole check. */
const PATTERN_MS = 100;
/** Steps that a pattern counts for: a few hundred that are slow, each within its time, are enough for one value. */
const PATTERN_STEPS = 200;

/**
 * What does not fit, at most `MAX_ISSUES`. Keywords that are not known here are not checked, as the standard says;
 * `$ref` is followed inside the schema only.
 */
export function jsonIssues(schema: Json, value: Json): readonly JsonIssue[] {
  const issues: JsonIssue[] = [];
  visit({ root: schema, issues, work: { steps: 0, depth: 0 } }, schema, value, []);
  return issues;
}

type Walk = { readonly root: Json; readonly issues: JsonIssue[]; readonly work: { steps: number; depth: number } };
type Path = readonly (string | number)[];

function visit(walk: Walk, schema: Json, value: Json, path: Path): void {
  if (walk.issues.length >= MAX_ISSUES) return;
  const { work } = walk;
  if (schema === false || path.length > MAX_DEPTH) return fail(walk, path, "is not allowed");
  if (work.depth > MAX_NESTED || ++work.steps > MAX_STEPS) return fail(walk, path, "takes too long to be checked");
  if (!isObject(schema)) return;
  work.depth++;
  look(walk, schema, value, path);
  work.depth--;
}

function look(walk: Walk, schema: JsonObject, value: Json, path: Path): void {
  const { $ref: ref, type, const: constant, enum: allowed } = schema;
  if (typeof ref === "string") visit(walk, resolve(walk.root, ref), value, path);
  if (type !== undefined && !list(type).some((name) => isOfType(name, value))) {
    return fail(walk, path, `must be ${list(type).map(String).join(" or ")}`);
  }
  if (constant !== undefined && !same(constant, value)) fail(walk, path, `must be ${JSON.stringify(constant)}`);
  if (Array.isArray(allowed) && !allowed.some((one: Json) => same(one, value))) {
    fail(walk, path, `must be one of ${allowed.map((one: Json) => JSON.stringify(one)).join(", ")}`);
  }
  combined(walk, schema, value, path);
  if (typeof value === "string") text(walk, schema, value, path);
  else if (typeof value === "number") number(walk, schema, value, path);
  else if (Array.isArray(value)) array(walk, schema, value as readonly Json[], path);
  else if (isObject(value)) object(walk, schema, value, path);
}

function combined(walk: Walk, schema: JsonObject, value: Json, path: Path): void {
  for (const part of list(schema["allOf"] ?? [])) visit(walk, part, value, path);
  const fits = (part: Json): boolean => {
    const inner: Walk = { ...walk, issues: [] };
    visit(inner, part, value, path);
    return inner.issues.length === 0;
  };
  const { anyOf, oneOf, not } = schema;
  if (Array.isArray(anyOf) && !anyOf.some(fits)) fail(walk, path, "fits none of the forms it may have");
  if (Array.isArray(oneOf) && oneOf.filter(fits).length !== 1) fail(walk, path, "must fit exactly one of its forms");
  if (not !== undefined && fits(not)) fail(walk, path, "has a form that it must not have");
}

function text(walk: Walk, { minLength, maxLength, pattern }: JsonObject, value: string, path: Path): void {
  const length = value.match(/./gsu)?.length ?? 0; // code points, as the standard counts
  if (typeof minLength === "number" && length < minLength) fail(walk, path, `needs at least ${minLength} characters`);
  if (typeof maxLength === "number" && length > maxLength) fail(walk, path, `has more than ${maxLength} characters`);
  if (typeof pattern === "string" && !matches(walk, pattern, value)) fail(walk, path, `must match ${pattern}`);
}

function matches({ work }: Walk, pattern: string, value: string): boolean {
  try {
    if (isQuick(pattern, value)) return new RegExp(pattern, "u").test(value);
    work.steps += PATTERN_STEPS;
    return inTime(pattern, value);
  } catch (error) {
    const isSlow = typeof error === "object" && error !== null && "code" in error && error.code === TOO_SLOW;
    if (!isSlow) return true; // a pattern that is none says nothing
    work.steps = MAX_STEPS;
    return false;
  }
}

/** A realm of its own is no boundary here: it is where a time limit can be set. */
const realm = createContext({ pattern: "", value: "" });
const script = new Script('new RegExp(pattern, "u").test(value)');

const TOO_SLOW = "ERR_SCRIPT_EXECUTION_TIMEOUT";

/** Without groups and with at most two repetitions a short text takes microseconds, a time limit half a millisecond. */
function isQuick(pattern: string, value: string): boolean {
  return value.length <= 100 && !pattern.includes("(") && (pattern.match(/[*+{?]/g)?.length ?? 0) <= 2;
}

function inTime(pattern: string, value: string): boolean {
  Object.assign(realm, { pattern, value });
  return script.runInContext(realm, { timeout: PATTERN_MS }) === true;
}

function number(walk: Walk, schema: JsonObject, value: number, path: Path): void {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema;
  if (typeof minimum === "number" && value < minimum) fail(walk, path, `must be at least ${minimum}`);
  if (typeof maximum === "number" && value > maximum) fail(walk, path, `must be at most ${maximum}`);
  if (typeof above === "number" && value <= above) fail(walk, path, `must be more than ${above}`);
  if (typeof below === "number" && value >= below) fail(walk, path, `must be less than ${below}`);
  if (typeof multipleOf !== "number" || multipleOf <= 0) return;
  const times = value / multipleOf;
  if (Math.abs(times - Math.round(times)) > 1e-9) fail(walk, path, `must be a multiple of ${multipleOf}`);
}

function array(walk: Walk, schema: JsonObject, value: readonly Json[], path: Path): void {
  const { minItems, maxItems, uniqueItems, items } = schema;
  if (typeof minItems === "number" && value.length < minItems) fail(walk, path, `needs at least ${minItems} items`);
  if (typeof maxItems === "number" && value.length > maxItems) fail(walk, path, `has more than ${maxItems} items`);
  if (uniqueItems === true && new Set(value.map((item) => canonicalJson(item))).size < value.length) {
    fail(walk, path, "has an item twice");
  }
  const first = list(schema["prefixItems"] ?? []);
  for (const [index, item] of value.entries()) {
    const own = first[index] ?? items;
    if (own !== undefined) visit(walk, own, item, [...path, index]);
  }
}

function object(walk: Walk, schema: JsonObject, value: JsonObject, path: Path): void {
  const { required, additionalProperties: others } = schema;
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  for (const name of list(required ?? [])) {
    if (typeof name === "string" && !Object.hasOwn(value, name)) fail(walk, [...path, name], "is missing");
  }
  for (const [name, member] of Object.entries(value)) {
    const own = Object.hasOwn(properties, name) ? properties[name] : others;
    if (own === false) fail(walk, [...path, name], "is not known");
    else if (own !== undefined) visit(walk, own, member, [...path, name]);
  }
}

function isOfType(name: Json, value: Json): boolean {
  switch (name) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === name;
  }
}

/** The schema that `#/...` names; `true`, which takes everything, when there is none. */
function resolve(root: Json, ref: string): Json {
  if (!ref.startsWith("#")) return true;
  let found: Json | undefined = root;
  for (const step of ref.split("/").slice(1)) {
    const name = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found === undefined || (isObject(found) && found["$ref"] === ref) ? true : found;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step; // no escape: the name itself
  }
}

function fail(walk: Walk, path: Path, message: string): void {
  walk.issues.push({ path, message });
}

function same(left: Json, right: Json): boolean {
  return left === right || canonicalJson(left) === canonicalJson(right);
}

function list(value: Json): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [value];
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
