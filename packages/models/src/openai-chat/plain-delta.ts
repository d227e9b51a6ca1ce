/** Reads the text of a delta without the JSON parser where a chunk differs from a parsed one in nothing but that text. Pure. */

import type { Json } from "@capstan/core";
import { isObject, listOf, memberOf, parseJson } from "../provider/json.ts";

/** Members of a delta that people read. */
const TEXT_MEMBERS = ["content", "reasoning", "reasoning_content"] as const;
type TextMember = (typeof TEXT_MEMBERS)[number];

/** A quote, a backslash, or a control character, which is whatever stands before the space. */
const NEEDS_PARSER = /["\\]|[^ -\uFFFF]/;
/** A text that tells whether the place of the text was found. */
const PROBE = "\uE000";
/** Chunks in a row from which nothing could be learned for the next one, until the attempt is given up. */
const ATTEMPTS = 4;

/** One a response. What it reads is what the parser would have read. */
export class PlainDeltas {
  member: TextMember = "content";
  #head = "";
  #tail = "";
  #attempts = ATTEMPTS;

  /** The text of `member`, or undefined when the chunk must be parsed. */
  read(data: string): string | undefined {
    const head = this.#head;
    // Comparing slices is several times as fast as `startsWith`.
    if (head === "" || data.slice(0, head.length) !== head) return undefined;
    const end = data.length - this.#tail.length;
    if (end < head.length || data.slice(end) !== this.#tail) return undefined;
    const text = data.slice(head.length, end);
    if (NEEDS_PARSER.test(text)) return undefined;
    this.#attempts = ATTEMPTS;
    return text;
  }

  /** Looks at a chunk that was parsed. */
  learn(data: string, chunk: Json): void {
    if (this.#attempts === 0) return;
    const found = onlyText(chunk);
    if (found === undefined) return;
    this.#attempts--;
    const { member, text } = found;
    const at = data.indexOf(`"${member}":`);
    const start = data.indexOf('"', at + member.length + 3) + 1;
    if (at === -1 || start === 0 || NEEDS_PARSER.test(text) || data.slice(start, start + text.length) !== text) return;
    const head = data.slice(0, start);
    const tail = data.slice(start + text.length);
    const probed = onlyText(parseJson(head + PROBE + tail));
    if (probed?.member !== member || probed.text !== PROBE) return;
    this.#head = head;
    this.#tail = tail;
    this.member = member;
  }
}

type Found = { readonly member: TextMember; readonly text: string };

/** The one text that a chunk brings; undefined when it brings anything else. */
function onlyText(chunk: Json | undefined): Found | undefined {
  const choices = listOf(memberOf(chunk, "choices"));
  const [choice] = choices;
  if (choices.length !== 1 || !isObject(choice) || !isObject(choice["delta"])) return undefined;
  const index = choice["index"] ?? 0;
  if (index !== 0 || isSaid(choice["finish_reason"]) || isSaid(choice["error"])) return undefined;
  if (["error", "usage", "x_groq"].some((name) => isSaid(memberOf(chunk, name)))) return undefined;
  let found: Found | undefined;
  for (const [name, value] of Object.entries(choice["delta"])) {
    if (name === "role" || !isSaid(value)) continue;
    const member = TEXT_MEMBERS.find((known) => known === name);
    if (member === undefined || typeof value !== "string" || found !== undefined) return undefined;
    found = { member, text: value };
  }
  return found;
}

function isSaid(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}
