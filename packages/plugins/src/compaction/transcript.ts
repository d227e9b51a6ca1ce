/** A conversation as one text that any model can read, cut to a length: what is long in it is shown by its head and tail. */

import type { Message, Part, ToolOutput } from "@capstan/core";

/** Characters of one part at first; less where the whole would be too long. */
const MOST_OF_PART = 8_000;
const LEAST_OF_PART = 120;

/** At most `most` characters, a little more for what says that something was left out. */
export function transcriptOf(messages: readonly Message[], most: number): string {
  for (let part = MOST_OF_PART; part >= LEAST_OF_PART; part /= 2) {
    const text = messages.map((message) => said(message, part)).join("\n");
    if (text.length <= most) return text;
  }
  return shortened(messages.map((message) => said(message, LEAST_OF_PART)).join("\n"), most);
}

function said({ role, parts }: Message, most: number): string {
  return parts.flatMap((part) => described(role, part, most)).join("\n");
}

function described(role: Message["role"], part: Part, most: number): readonly string[] {
  switch (part.type) {
    case "text":
      return [`[${role}] ${shortened(part.text, most)}`];
    case "reasoning":
    case "opaque":
      return [];
    case "file":
      return [`[${role}] (file ${part.name ?? part.mediaType})`];
    case "tool-call":
      return [`[${role} calls ${part.name}] ${shortened(JSON.stringify(part.input), most)}`];
    case "tool-result":
      return [
        `[result of ${part.name}${part.output.isError === true ? ", an error" : ""}] ${resultOf(part.output, most)}`,
      ];
    case "source":
      return [`[source] ${part.url ?? part.title ?? part.id}`];
    default:
      return part satisfies never;
  }
}

function resultOf({ content }: ToolOutput, most: number): string {
  return content
    .map((item) => {
      if (item.type === "text") return shortened(item.text, most);
      if (item.type === "diff") return `(${item.path} changed)`;
      return `(file ${item.name ?? item.mediaType})`;
    })
    .join("\n");
}

/** Head and tail of a text. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.floor(most * 0.4);
  const tail = Math.floor(most * 0.6);
  const left = text.length - head - tail;
  return `${text.slice(0, head)}\n[... ${left} characters left out ...]\n${text.slice(-tail)}`.toWellFormed();
}
