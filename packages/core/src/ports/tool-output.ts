/** What a tool returned, as the output that the log keeps and the model reads. */

import { type Json, toJson } from "../words/json.ts";
import { LIMITS } from "../words/limits.ts";
import { errorOutput, text, type ToolOutput, textOutput } from "../words/message.ts";
import { isOutput } from "../words/output-shape.ts";
import { check } from "../words/schema.ts";
import type { Tool, ToolResult } from "./tool.ts";

type OutputPart = ToolOutput["content"][number];

/** Text stays text, JSON becomes text and, when it fits the tool's output schema, a structured value. */
export function toOutput(tool: Tool, result: ToolResult): ToolOutput | Promise<ToolOutput> {
  if (result === undefined || result === null) return textOutput("Done.");
  if (typeof result === "string") return shortened(textOutput(result));
  if (isReady(result)) return tool.builtIn ? shortened(result) : plain(`${tool.name} returned`, result);
  const written = JSON.stringify(result) as string | undefined; // a function or a symbol has no JSON
  if (written === undefined) return errorOutput(`${tool.name} returned something that cannot be written as JSON`);
  const output = textOutput(written);
  if (tool.outputSchema === undefined) return shortened(output);
  return check(tool.outputSchema, result).then((checked) => {
    if (checked.ok) return shortened({ ...output, output: JSON.parse(written) as Json }); // its own text
    return errorOutput(`${tool.name} returned something that does not fit its own output schema: ${checked.problem}`);
  });
}

/** A copy of a ready output that can be stored, and is not too long: its type says so, its author need not. */
export function plain(what: string, output: ToolOutput): ToolOutput {
  const copy: unknown = toJson(what, output);
  if (!isOutput(copy)) throw new Error(`${what} something that is no output of a tool`);
  return shortened(copy);
}

function isReady(result: Exclude<ToolResult, void>): result is ToolOutput {
  return typeof result === "object" && result !== null && "content" in result && Array.isArray(result.content);
}

/**
 * Texts keep their first and last half of what all of them together may take, with a line between that says how much is
 * missing; a text behind the limit is left out.
 */
export function shortened(output: ToolOutput): ToolOutput {
  const limit = LIMITS.toolOutputBytes;
  const { content } = output;
  if (content.reduce((sum, part) => sum + weightOf(part), 0) <= limit) return output;
  const kept: OutputPart[] = [];
  let left = limit;
  let dropped = 0;
  for (const part of content) {
    if (part.type !== "text") kept.push(part);
    else if (left <= 0) dropped += 1;
    else kept.push(text(shorten(part.text, left)));
    left -= weightOf(part);
  }
  if (dropped > 0) kept.push(text(`[... ${dropped} more texts left out ...]`));
  return { ...output, content: kept, truncated: true };
}

/** An empty text weighs something too. */
function weightOf(part: OutputPart): number {
  return part.type === "text" ? Math.max(part.text.length, LIMITS.outputPartBytes) : 0;
}

function shorten(value: string, limit: number): string {
  if (value.length <= limit) return value;
  const half = Math.floor(limit / 2);
  const head = value.slice(0, half).toWellFormed();
  return `${head}\n[... ${value.length - 2 * half} characters left out ...]\n${value.slice(-half).toWellFormed()}`;
}
