/**
 * Schemas of MCP servers are the text of strangers. What the model is shown and what values are checked against is a copy
 * made here: bounded, closed in itself, without patterns that could run for ever.
 */

import { MCP_LIMITS } from "../limits.ts";
import { boundedCheck } from "./bounded-check.ts";
import { type Json, type JsonIssue, jsonIssues } from "./json-check.ts";
import { visibleText } from "../visible-text.ts";

export type ReadSchema = { readonly schema: Json; readonly problem?: undefined } | { readonly problem: string };

/** The schema as a model may be shown it. A problem: the tool cannot be offered. */
export function readSchema(given: unknown): ReadSchema {
  if (!isObject(given)) return { problem: "its input schema is no object" };
  const size = sizeOf(given);
  if (size !== undefined) return { problem: size };
  const text = JSON.stringify(given);
  if (text.length > MCP_LIMITS.schemaChars)
    return { problem: `its input schema has more than ${MCP_LIMITS.schemaChars} characters` };
  const schema = JSON.parse(text, visibleWords) as { readonly [name: string]: Json };
  const type = schema["type"];
  if (type !== undefined && type !== "object") return { problem: "its input is not an object" };
  const foreign = foreignReference(schema);
  if (foreign !== undefined) return { problem: `its input schema points outside of itself (${foreign})` };
  return { schema: { ...schema, type: "object" } };
}

/** What is said in a schema, as it may be shown; values that it allows stay as they are. */
function visibleWords(name: string, value: unknown): unknown {
  return typeof value === "string" && (name === "description" || name === "title") ? visibleText(value) : value;
}

/** What of a value does not fit, in one line; undefined when nothing is wrong. Bounded in time whatever the two are. */
export function schemaProblem(schema: Json, value: Json): string | undefined {
  const safe = withSafePatterns(schema);
  const check = (): readonly JsonIssue[] => jsonIssues(safe, value);
  const issues = isSmall(safe, value) ? check() : boundedCheck(check, MCP_LIMITS.checkMs);
  if (issues === undefined) return "it takes too long to be checked";
  if (issues.length === 0) return undefined;
  return issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`)).join("; ");
}

/** Whether a check cannot take long: then it needs no watch, which takes a millisecond itself. */
function isSmall(schema: Json, value: Json): boolean {
  const written = JSON.stringify(schema);
  if (/"(?:\$ref|pattern)"/.test(written)) return false;
  return written.length * ((JSON.stringify(value) as string | undefined)?.length ?? 0) <= MCP_LIMITS.smallCheck;
}

/** Walks without recursion: what is measured may be deeper than the stack. */
function sizeOf(schema: object): string | undefined {
  let level: readonly object[] = [schema];
  let nodes = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MCP_LIMITS.schemaDepth) return `its input schema is deeper than ${MCP_LIMITS.schemaDepth}`;
    nodes += level.length;
    if (nodes > MCP_LIMITS.schemaNodes) return `its input schema has more than ${MCP_LIMITS.schemaNodes} parts`;
    level = level.flatMap((one) =>
      Object.values(one).filter((value) => typeof value === "object" && value !== null),
    ) as object[];
  }
  return undefined;
}

function foreignReference(value: Json): string | undefined {
  if (Array.isArray(value))
    return (value as readonly Json[]).map((item) => foreignReference(item)).find((found) => found !== undefined);
  if (!isObject(value)) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    if (/^\$(?:ref|dynamicRef|recursiveRef)$/.test(name) && typeof inner === "string" && !inner.startsWith("#"))
      return inner.slice(0, 80);
    const found = foreignReference(inner as Json);
    if (found !== undefined) return found;
  }
  return undefined;
}

const SAFE_NESTING = MCP_LIMITS.schemaDepth + 1;

/** Patterns that may take long are left to the server; the others are tried on short texts only. */
export function withSafePatterns(value: Json, depth = 0): Json {
  if (depth > SAFE_NESTING) return true;
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => withSafePatterns(item, depth + 1));
  if (!isObject(value)) return value;
  const entries = Object.entries(value as { readonly [name: string]: Json }).flatMap(
    ([name, inner]): [string, Json][] => {
      if (name === "patternProperties") return [];
      if (name !== "pattern" || typeof inner !== "string") return [[name, withSafePatterns(inner, depth + 1)]];
      return [];
    },
  );
  const { pattern } = value as { readonly pattern?: Json };
  const copy = Object.fromEntries(entries);
  if (typeof pattern !== "string" || !isQuick(pattern)) return copy;
  const tried = {
    anyOf: [
      { type: ["null", "boolean", "number", "array", "object"] },
      { minLength: MCP_LIMITS.patternText + 1 },
      { pattern },
    ],
  };
  const all = Array.isArray(copy["allOf"]) ? (copy["allOf"] as readonly Json[]) : [];
  return { ...copy, allOf: [...all, tried] };
}

/**
 * Whether a pattern takes at most the square of a text's length: no repeated group, no reference back, few repeats and few
 * choices, which multiply. Characters that were escaped and classes count as one letter.
 */
function isQuick(pattern: string): boolean {
  if (pattern.length > MCP_LIMITS.patternChars || /\\[1-9k]|\(\?[=!<]/.test(pattern)) return false;
  const plain = pattern.replaceAll(/\\./gsu, "x").replaceAll(/\[[^\]]*\]/g, "x");
  if (/\)[*+?{]/.test(plain)) return false;
  const repeats = plain.match(/[*+]|\{\d+,\d*\}/g)?.length ?? 0;
  const choices = plain.match(/(?<![*+?}(])\?|\|/g)?.length ?? 0;
  return repeats <= (plain.startsWith("^") ? 2 : 1) && choices <= MCP_LIMITS.patternChoices;
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
