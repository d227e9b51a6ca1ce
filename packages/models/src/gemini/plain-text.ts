/** Reads chunks that bring nothing but more text without parsing them, when they are written like a chunk that was parsed. */

import type { Json } from "@capstan/core";
import { isObject, type JsonObject, listOf, memberOf, objectOf, parseJson } from "../provider/json.ts";

export type PlainText = { readonly kind: "text" | "reasoning"; readonly text: string };

export interface PlainTextReader {
  /** The text of a chunk that differs from a learned one in its text and its counts only. */
  read(data: string): PlainText | undefined;
  /** Takes a parsed chunk as the pattern for those that follow, when it brought nothing but text. */
  learn(data: string, chunk: JsonObject): void;
  /** The counts of the newest chunk that was read and not parsed. */
  takeUsage(): JsonObject | undefined;
}

/** `head` and `middle` stand before and behind the text; what follows them are counts and names of the response. */
type Pattern = { readonly kind: PlainText["kind"]; readonly head: string; readonly middle: string };

/** A backslash, or a control character, which is whatever stands before the space. */
const NEEDS_PARSER = /\\|[^ -\uFFFF]/;
/** What changes how a chunk is read. Only counts and names of the response are expected behind the text. */
const NO_REST = /"(?:error|promptFeedback|candidates)"/;
const USAGE = '"usageMetadata"';
const KNOWN: readonly string[] = ["candidates", "usageMetadata", "modelVersion", "responseId"];

export function plainText(thought: boolean): PlainText["kind"] {
  return thought ? "reasoning" : "text";
}

export function plainTextReader(): PlainTextReader {
  let pattern: Pattern | undefined;
  let unread: string | undefined;
  return {
    read(data) {
      if (pattern === undefined) return undefined;
      const { kind, head, middle } = pattern;
      // Comparing a slice is several times as fast as `startsWith`.
      if (data.slice(0, head.length) !== head) return undefined;
      const to = data.indexOf('"', head.length);
      if (to === -1 || data.slice(to, to + middle.length) !== middle) return undefined;
      const text = data.slice(head.length, to);
      const rest = data.slice(to + middle.length);
      if (NEEDS_PARSER.test(text) || NO_REST.test(rest)) return undefined;
      unread = rest;
      return { kind, text };
    },
    learn(data, chunk) {
      pattern = patternOf(data, chunk) ?? pattern;
    },
    takeUsage() {
      const rest = unread === undefined ? undefined : parseJson(`{${USAGE}${unread}`);
      unread = undefined;
      return isObject(rest) ? objectOf(rest["usageMetadata"]) : undefined;
    },
  };
}

function patternOf(data: string, chunk: JsonObject): Pattern | undefined {
  const [candidate, ...others] = listOf(chunk["candidates"]);
  const content = memberOf(candidate, "content");
  const [part, ...more] = listOf(memberOf(content, "parts"));
  const text = memberOf(part, "text");
  const only =
    others.length === 0 &&
    more.length === 0 &&
    hasOnly(chunk, KNOWN) &&
    hasOnly(candidate, ["content", "index"]) &&
    hasOnly(content, ["parts", "role"]) &&
    hasOnly(part, ["text", "thought"]);
  if (!only || typeof text !== "string" || text === "" || NEEDS_PARSER.test(text) || text.includes('"'))
    return undefined;
  const from = data.indexOf(`"${text}"`, data.indexOf('"text"') + 6) + 1;
  const head = data.slice(0, from);
  const to = data.indexOf(USAGE, from + text.length);
  const middle = data.slice(from + text.length, to + USAGE.length);
  if (from === 0 || to === -1 || !/"text"\s*:\s*"$/.test(head) || !/^"[^]*\}\s*\]\s*,\s*"usageMetadata"$/.test(middle))
    return undefined;
  return { kind: plainText(memberOf(part, "thought") === true), head, middle };
}

function hasOnly(value: Json | undefined, names: readonly string[]): boolean {
  return isObject(value) && Object.keys(value).every((name) => names.includes(name));
}
