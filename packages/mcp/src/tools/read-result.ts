/** What a server answered, as the output of a tool: text, images and files within bounds, everything else as text. */

import { type Json, type TextPart, type FilePart, text, type ToolOutput } from "@capstan/core";
import { MCP_LIMITS } from "../limits.ts";
import { schemaProblem } from "./remote-schema.ts";

type OutputPart = TextPart | FilePart;
type Members = { readonly [name: string]: unknown };

/**
 * Never throws. A structured value is kept when it fits `outputSchema`, or when there is none. `labels`: where it came
 * from, inherited by what is made of it.
 */
export function readResult(
  result: unknown,
  options: { readonly outputSchema?: Json | undefined; readonly labels: readonly string[] },
): ToolOutput {
  const members = isObject(result) ? result : {};
  const { content, structuredContent, isError } = members;
  const blocks = Array.isArray(content) ? (content as readonly unknown[]) : [];
  const parts: OutputPart[] = blocks.slice(0, MCP_LIMITS.resultParts).map((block) => partOf(block));
  if (blocks.length > parts.length) parts.push(text(`[... ${blocks.length - parts.length} more parts left out ...]`));
  const structured = structuredContent === undefined ? undefined : (structuredContent as Json);
  const problem =
    structured === undefined || options.outputSchema === undefined
      ? undefined
      : schemaProblem(options.outputSchema, structured);
  if (problem !== undefined) parts.push(text(`[Its structured result does not fit the tool's own schema: ${problem}]`));
  // servers are to say it as text too; one that does not is not lost
  if (structured !== undefined && !parts.some(({ type }) => type === "text"))
    parts.push(text(cut(JSON.stringify(structured))));
  return {
    content: parts.length > 0 ? parts : [text("Done.")],
    ...(structured !== undefined && problem === undefined && { output: structured }),
    ...(isError === true && { isError: true }),
    labels: options.labels,
  };
}

/** Where what a server said comes from. */
export function originOf(server: string): readonly string[] {
  return ["untrusted", `mcp:${server}`];
}

/** One block of content of any revision. What is unknown is shown as it is, as text. */
export function partOf(block: unknown): OutputPart {
  if (!isObject(block)) return text(cut(JSON.stringify(block) ?? ""));
  const { type, text: words, data, mimeType, resource } = block;
  if (type === "text" && typeof words === "string") return text(cut(words));
  if ((type === "image" || type === "audio") && typeof data === "string")
    return fileOf(data, mimeType, type === "image" ? "image/png" : "audio/wav");
  if (type === "resource" && isObject(resource)) return resourcePart(resource);
  if (type === "resource_link") return text(linkText(block));
  return text(cut(JSON.stringify(block)));
}

/** What `resources/read` and embedded resources hold. */
export function resourcePart({ uri, mimeType, text: words, blob }: Members): OutputPart {
  const name = typeof uri === "string" ? uri.slice(0, 2_048) : undefined;
  if (typeof words === "string") return text(cut(words));
  if (typeof blob === "string") return fileOf(blob, mimeType, "application/octet-stream", name);
  return text(`[resource ${name ?? "without a name"}: no content]`);
}

function linkText({ uri, name, title, description, mimeType }: Members): string {
  const said = [title ?? name, description, mimeType].filter((one) => typeof one === "string").join(", ");
  return cut(`[link to ${String(uri)}${said === "" ? "" : `: ${said}`}]`);
}

/** Files of media types that no provider takes are told about, not shown. */
function fileOf(data: string, mimeType: unknown, usual: string, name?: string): OutputPart {
  const mediaType =
    typeof mimeType === "string" && /^[\w.+-]+\/[\w.+-]+$/.test(mimeType) ? mimeType.toLowerCase() : usual;
  const bytes = Math.floor((data.length * 3) / 4);
  const told = `${mediaType}${name === undefined ? "" : ` ${name}`}, ${bytes} bytes`;
  if (bytes > MCP_LIMITS.resultFileBytes)
    return text(`[left out: ${told} is more than ${MCP_LIMITS.resultFileBytes} bytes]`);
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(data) || data.length === 0) return text(`[left out: ${told} is not base64]`);
  if (!/^(?:image\/(?:png|jpeg|gif|webp)|application\/pdf|audio\/[\w.+-]+)$/.test(mediaType))
    return text(`[left out: ${told}]`);
  return { type: "file", mediaType, data: { type: "base64", base64: data }, ...(name !== undefined && { name }) };
}

/** The first and last half of a text that is too long. */
function cut(words: string): string {
  const limit = MCP_LIMITS.resultTextChars;
  if (words.length <= limit) return words.toWellFormed();
  const half = limit / 2;
  return `${words.slice(0, half).toWellFormed()}\n[... ${words.length - limit} characters left out ...]\n${words.slice(-half).toWellFormed()}`;
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
