/** The output of a tool as other protocols carry it: a structured value, or one text. */

import type { ToolOutput } from "@capstan/core";

/** The structured value where there is one, else the text, else the parts as they are. */
export function toolValue(output: ToolOutput): unknown {
  if (output.output !== undefined) return output.output;
  return output.content.every((part) => part.type === "text") ? toolText(output) : output.content;
}

/** What of the output is text; other parts are named. */
export function toolText({ content }: ToolOutput): string {
  return content
    .map((part) => {
      if (part.type === "text") return part.text;
      return part.type === "diff" ? `[change of ${part.path}]` : `[${part.name ?? "file"}, ${part.mediaType}]`;
    })
    .join("\n");
}
