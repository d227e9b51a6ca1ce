/** What a caller gives, checked before anything depends on it: a wrong input is said at once and leaves nothing behind. */

import { CapstanError } from "../words/errors.ts";
import type { Limits, Overrides } from "../words/event.ts";
import { isPlainJson, type Json, toJson } from "../words/json.ts";
import { LIMITS } from "../words/limits.ts";
import { type Part, text } from "../words/message.ts";
import { isFilePart, membersOf } from "../words/output-shape.ts";

/** The input as parts that a person may say: texts and files. Throws `input-invalid` and `input-too-large`. */
export function toParts(input: string | readonly Part[]): readonly Part[] {
  const parts = typeof input === "string" ? [text(input)] : input;
  if (!Array.isArray(parts) || !parts.every((part: unknown) => isSaid(part)))
    throw invalid("The input must be a text, or a list of text and file parts");
  const size = parts.reduce((sum, part) => sum + (part.type === "text" ? Buffer.byteLength(part.text) : 0), 0);
  if (size > LIMITS.inputBytes) {
    throw new CapstanError(
      "input-too-large",
      `The input is ${size} bytes long; at most ${LIMITS.inputBytes} fit. Put it into a file and let a tool read it`,
    );
  }
  if (parts.every((part) => part.type === "text" && part.text.trim() === ""))
    throw invalid("The input is empty: say what the agent is to do");
  return parts.map((part) => (part.type === "file" ? { ...part, data: { ...part.data } } : { ...part })); // the caller's own may change
}

/** Whether a person may say it. A call or its result in a person's mouth would be a history that no model takes. */
export function isSaid(part: unknown): boolean {
  const members = membersOf(part);
  if (members === undefined) return false;
  return members["type"] === "text" ? typeof members["text"] === "string" : isFilePart(members);
}

const AMOUNTS = [
  "turns",
  "wallMs",
  "toolMs",
  "calls",
  "tokens",
  "microUsd",
] as const satisfies readonly (keyof Limits)[];

/** What is wrong with limits; `undefined` when nothing is. What is no number would be no limit, or one of nothing after a restart. */
export function limitsProblem(limits: unknown): string | undefined {
  const members = membersOf(limits);
  if (members === undefined) return "limits must be an object";
  const wrong = AMOUNTS.find((name) => members[name] !== undefined && !isAmount(members[name]));
  return wrong === undefined ? undefined : `limits.${wrong} must be a number of at least 0; leave it out for no limit`;
}

function isAmount(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

type Unchecked = { readonly [Option in keyof Overrides | "tags"]?: unknown };

/** Throws `input-invalid` for what a caller without types may have given. */
export function checkSendOptions({ limits, model, instructions, mode, tools, plugins, tags }: Unchecked): void {
  const problem = limits === undefined ? undefined : limitsProblem(limits);
  if (problem !== undefined) throw invalid(problem);
  for (const [name, value] of Object.entries({ model, instructions, mode }))
    if (value !== undefined && typeof value !== "string") throw invalid(`${name} must be a text`);
  for (const [name, value] of Object.entries({ tools, plugins }))
    if (value !== undefined && !isTexts(value)) throw invalid(`${name} must be a list of names`);
  if (tags !== undefined && !isTexts(Object.values(membersOf(tags) ?? [0])))
    throw invalid("tags must be texts by name");
}

export function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** A copy that can be stored: what the caller does to its own later changes nothing. Throws `input-invalid`. */
export function storable<T>(what: string, value: T): T {
  let copy: Json;
  try {
    copy = toJson(`${what} holds`, value);
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : what, error);
  }
  if (!isPlainJson(copy)) throw invalid(`${what} is nested too deeply`);
  return copy as T; // JSON of what is JSON by its type
}

function invalid(message: string, cause?: unknown): CapstanError {
  return new CapstanError("input-invalid", message, cause === undefined ? {} : { cause });
}
