/** JSON from outside: refused before it is parsed when it is nested so deeply that code which calls itself would fall over it. */

import { CapstanError, messageOf } from "@capstan/core";
import { WIRE_LIMITS } from "./wire-limits.ts";

/** Throws `input-invalid` for what is no JSON. */
export function parseJson(text: string): unknown {
  if (depthOf(text) > WIRE_LIMITS.jsonDepth)
    throw new CapstanError("input-invalid", `The JSON is nested more than ${WIRE_LIMITS.jsonDepth} deep`);
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new CapstanError("input-invalid", `This is no JSON: ${messageOf(cause).slice(0, 200)}`, { cause });
  }
}

/** Counts brackets outside of strings; more than the limit is not counted. Most of a long text is strings: they are leapt over. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > deepest) deepest = depth;
      if (deepest > WIRE_LIMITS.jsonDepth) return deepest;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return deepest;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Where the string ends that begins at `start`; behind the text when it does not. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end; // an even number of backslashes are themselves
  }
  return text.length;
}

export type Members = { readonly [name: string]: unknown };

/** The members of an object. Throws `input-invalid` for everything else. */
export function parseObject(value: unknown, what: string): Members {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members; // any object has members
  throw new CapstanError("input-invalid", `${what} must be an object`);
}

/** A text that is there and not too long; `undefined` when it is absent. Throws `input-invalid`. */
export function textMember(of: Members, name: string, maxChars: number = WIRE_LIMITS.idChars): string | undefined {
  const value = Object.hasOwn(of, name) ? of[name] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string" || value === "" || value.length > maxChars)
    throw new CapstanError("input-invalid", `${name} must be a text of 1 to ${maxChars} characters`);
  return value;
}
