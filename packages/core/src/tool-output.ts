/** What a tool returned, as the output that the log keeps and the model reads. */

import { type Json, toJson } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { errorOutput, text, type ToolOutput, textOutput } from "./message.ts";
import { check } from "./schema.ts";
import type { Tool, ToolResult } from "./tool.ts";

/** Text stays text, JSON becomes text and, when it fits the tool's output schema, a structured value. */
export function toOutput(tool: Tool, result: ToolResult): ToolOutput | Promise<ToolOutput> {
  if (result === undefined || result === null) return textOutput("Done.");
  if (typeof result === "string") return shortened(textOutput(result));
  if (isToolOutput(result)) return shortened(tool.builtIn ? result : plain(`${tool.name} returned`, result));
  const value = result as Json; // what is left of ToolResult
  const output = textOutput(JSON.stringify(value));
  if (tool.outputSchema === undefined) return shortened(output);
  return check(tool.outputSchema, value).then((checked) => {
    if (checked.ok) return shortened({ ...output, output: value });
    return errorOutput(`${tool.name} returned something that does not fit its own output schema: ${checked.problem}`);
  });
}

/** A copy of a ready output that can be stored: its type says so, its author need not. */
export function plain(what: string, output: ToolOutput): ToolOutput {
  return toJson(what, output) as unknown as ToolOutput;
}

function isToolOutput(result: Exclude<ToolResult, void>): result is ToolOutput {
  return typeof result === "object" && result !== null && "content" in result && Array.isArray(result.content);
}

/** Long texts keep their first and last half, with a line between that says how much is missing. */
function shortened(output: ToolOutput): ToolOutput {
  const limit = LIMITS.toolOutputBytes;
  if (!output.content.some((part) => part.type === "text" && part.text.length > limit)) return output;
  const content = output.content.map((part) => (part.type === "text" ? text(shorten(part.text, limit)) : part));
  return { ...output, content, truncated: true };
}

function shorten(value: string, limit: number): string {
  if (value.length <= limit) return value;
  const half = limit / 2;
  const head = value.slice(0, half).toWellFormed();
  return `${head}\n[... ${value.length - limit} characters left out ...]\n${value.slice(-half).toWellFormed()}`;
}
