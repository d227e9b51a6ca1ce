/** About how many tokens messages have: for shares and thresholds. What must not be exceeded is bounded in prompt-bound.ts. */

import { LIMITS } from "../words/limits.ts";
import type { Message, Part } from "../words/message.ts";

const CHARS_PER_TOKEN = 4;

/** Messages and parts keep their identity, so that a long conversation is measured once. */
const sizes = new WeakMap<object, number>();

/** Estimated tokens of a message, its frame included. */
export function sizeOf(message: Message): number {
  const { reservedMessageTokens: frame } = LIMITS;
  return kept(message, ({ parts }) => frame + parts.reduce((sum, part) => sum + partSize(part), 0));
}

/** Estimated tokens of one part. */
export function partSize(part: Part): number {
  return kept<Part>(part, measured);
}

/** Estimated tokens of a text: other scripts than Latin by their bytes. */
export function textSize(text: string): number {
  return Math.ceil(Math.max(text.length, Buffer.byteLength(text)) / CHARS_PER_TOKEN);
}

function measured(part: Part): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return textSize(part.text) + ("seal" in part ? textSize(JSON.stringify(part.seal)) : 0);
    case "file":
      return fileSize(part);
    case "tool-result": {
      const { content } = part.output;
      const files = content.filter((item) => item.type === "file");
      const rest = content.filter((item) => item.type !== "file");
      return files.reduce((sum, file) => sum + fileSize(file), textSize(JSON.stringify(rest)));
    }
    case "tool-call":
    case "source":
    case "opaque":
      return textSize(JSON.stringify(part));
    default:
      return part satisfies never;
  }
}

/** A text inline is its characters; of any other file only the provider knows. */
function fileSize({ mediaType, data }: Extract<Part, { readonly type: "file" }>): number {
  if (!mediaType.startsWith("text/")) return LIMITS.reservedFileTokens;
  const bytes = data.type === "base64" ? (data.base64.length * 3) / 4 : data.type === "blob" ? data.size : undefined;
  return bytes === undefined ? LIMITS.reservedFileTokens : Math.ceil(bytes / CHARS_PER_TOKEN);
}

function kept<T extends object>(item: T, measure: (item: T) => number): number {
  const known = sizes.get(item);
  if (known !== undefined) return known;
  const size = measure(item);
  sizes.set(item, size);
  return size;
}
