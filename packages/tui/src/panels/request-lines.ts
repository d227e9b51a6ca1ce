/** What a request is about, whole within bounds: what would happen if it is allowed. */

import type { Json, RequestBody } from "@capstan/core";
import { inert, inertLine } from "../inert.ts";
import { TERMINAL_LIMITS } from "../limits.ts";
import type { ThemeContext } from "../theme-context.ts";
import { wrap } from "../view/text-width.ts";

export function requestTitle(body: RequestBody): string {
  switch (body.type) {
    case "permission":
      return `May I? ${inertLine(body.title, 160)}`;
    case "plan":
      return "Is this plan right?";
    case "question":
      return "A question";
    case "form":
      return `${inertLine(body.origin, 60)} asks`;
    case "client-tool":
      return `A result is to be given for ${inertLine(body.tool, 60)}`;
    case "doubt":
      return `Did this happen? ${inertLine(body.tool, 60)}`;
    default:
      return body satisfies never;
  }
}

/** `rows`: how many lines there is room for; what does not fit says so. */
export function requestLines(body: RequestBody, context: ThemeContext, width: number, rows: number): readonly string[] {
  const lines = bodyLines(body, context, width);
  const most = Math.max(1, rows);
  return lines.length > most
    ? [
        ...lines.slice(0, most - 1),
        context.style("warning", `(${lines.length - most + 1} more lines: ctrl+o shows them)`),
      ]
    : lines;
}

function bodyLines(body: RequestBody, context: ThemeContext, width: number): readonly string[] {
  const field = (name: string, value: string): readonly string[] => fieldLines(name, value, context, width);
  switch (body.type) {
    case "permission":
      return [
        ...field("tool", body.tool),
        ...inputFields(body.input).flatMap(([name, value]) => field(name, value)),
        ...(body.binding.cwd === undefined ? [] : field("folder", body.binding.cwd)),
        ...(body.reason === undefined ? [] : field("why", body.reason)),
      ];
    case "doubt":
      return [
        ...wrap("A crash came while this ran; nobody knows whether it happened.", width),
        ...field("tool", body.tool),
        ...inputFields(body.input).flatMap(([name, value]) => field(name, value)),
      ];
    case "client-tool":
      return inputFields(body.input).flatMap(([name, value]) => field(name, value));
    case "plan":
      return wrap(inert(body.markdown), width);
    case "form":
      return [...wrap(inert(body.message), width), ...(body.url === undefined ? [] : field("address", body.url))];
    case "question":
      return [];
    default:
      return body satisfies never;
  }
}

function inputFields(input: Json): readonly (readonly [name: string, value: string])[] {
  const entries =
    typeof input === "object" && input !== null && !Array.isArray(input)
      ? Object.entries(input)
      : [["input", input] as const];
  return entries.map(([name, value]) => [
    inertLine(name, 12),
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
}

const NAME_WIDTH = 9;

/** The mark at the left of each line cannot be written by the model. */
function fieldLines(name: string, value: string, { style, glyphs }: ThemeContext, width: number): readonly string[] {
  const all = wrap(inert(value.slice(0, TERMINAL_LIMITS.outputCharacters)), Math.max(8, width - NAME_WIDTH - 2));
  return all.map(
    (line, at) =>
      `${style("dim", (at === 0 ? name : "").padEnd(NAME_WIDTH).slice(0, Math.max(NAME_WIDTH, name.length)))}${style("border", glyphs.bar)} ${line}`,
  );
}
