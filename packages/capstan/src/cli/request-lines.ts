/** A request as lines for people: exactly what would happen, whole within bounds, all of it inert (G20). */

import type { Json, QuestionItem, RequestBody } from "@capstan/core";
import { inert, inertLine } from "./inert.ts";

/** Lines of one value that are shown; the number of the others is said. */
const MAX_LINES = 40;
const MAX_LINE = 2_000;

/** The first line says what it is about. */
export function requestLines(body: RequestBody): readonly string[] {
  switch (body.type) {
    case "permission": {
      const { title, tool, input, binding, reason } = body;
      const fields: readonly Field[] = [
        ["tool", tool],
        ...fieldsOf(input),
        ...(binding.cwd === undefined ? [] : [["folder", binding.cwd] as const]),
        ...(reason === undefined ? [] : [["why", reason] as const]),
      ];
      return [`May I? ${inertLine(title)}`, ...fieldLines(fields)];
    }
    case "plan":
      return ["The plan:", ...shownLines(body.markdown)];
    case "question":
      return body.questions.flatMap((item) => questionLines(item, body.questions.length > 1));
    case "form": {
      const { message, origin, url, schema } = body;
      const fields: readonly Field[] = [
        ["from", origin],
        ...(url === undefined ? [] : [["address", url] as const]),
        ...(schema === undefined ? [] : [["schema", JSON.stringify(schema)] as const]),
      ];
      return [inertLine(message), ...fieldLines(fields)];
    }
    case "client-tool":
      return ["A result is to be given for this call", ...fieldLines([["tool", body.tool], ...fieldsOf(body.input)])];
    case "doubt":
      return [
        "A crash came while this ran; nobody knows whether it happened",
        ...fieldLines([["tool", body.tool], ...fieldsOf(body.input)]),
      ];
    default:
      return body satisfies never;
  }
}

/** `named`: with its header, by which it is answered when there are several. */
export function questionLines({ header, question, options }: QuestionItem, named = false): readonly string[] {
  return [
    `${named ? `${inertLine(header, 40)}: ` : ""}${inertLine(question)}`,
    ...options.map(
      ({ label, description }, at) =>
        `  ${at + 1}  ${inertLine(label)}${description === "" ? "" : `: ${inertLine(description)}`}`,
    ),
  ];
}

type Field = readonly [name: string, value: string];

function fieldsOf(input: Json): readonly Field[] {
  const entries =
    typeof input === "object" && input !== null && !Array.isArray(input)
      ? Object.entries(input)
      : [["input", input] as const];
  return entries.map(([name, value]) => [
    inertLine(name, 20),
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
}

/** Every value whole within bounds; the marks at its left cannot be written by the model. */
function fieldLines(fields: readonly Field[]): readonly string[] {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.flatMap(([name, value]) =>
    shownLines(value).map((line, at) => `  ${(at === 0 ? name : "").padEnd(width)} │ ${line}`),
  );
}

function shownLines(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  const shown = lines.slice(0, MAX_LINES).map((line) => {
    const more = line.length - MAX_LINE;
    return more > 0
      ? `${inert(line.slice(0, MAX_LINE).toWellFormed())} (${more} more characters of this line)`
      : inert(line);
  });
  return lines.length > MAX_LINES ? [...shown, `(${lines.length - MAX_LINES} more lines)`] : shown;
}
