/** UI messages as the AI SDK 7 (`ai`) has them, the part that ACP needs; and what a person says in one as a prompt of ACP. */

import type { AcpContentBlock } from "./acp-wire.ts";
import { ACP_WIRE_LIMITS as LIMITS } from "./acp-limits.ts";

/** `id`: of a thought. */
export type UiTextPart = { type: "text" | "reasoning"; id?: string; text: string; state?: "streaming" | "done" };
export type UiFilePart = { type: "file"; mediaType: string; url: string; filename?: string };
export type UiSourcePart = { type: "source-url"; sourceId: string; url: string; title?: string };
export type UiDataPart = { type: `data-${string}`; id?: string; data: unknown };
export type UiApproval = { id: string; approved?: boolean; reason?: string };
/** `ai` types each state with members of its own; what is set when is the same here. */
export type UiToolPart = {
  type: "dynamic-tool";
  toolName: string;
  toolCallId: string;
  title?: string;
  state:
    | "input-streaming"
    | "input-available"
    | "approval-requested"
    | "approval-responded"
    | "output-available"
    | "output-error";
  input: unknown;
  output?: unknown;
  errorText?: string;
  preliminary?: boolean;
  approval?: UiApproval;
};
export type UiPart = UiTextPart | UiFilePart | UiSourcePart | UiDataPart | UiToolPart;
/** Fits where `ai` takes a `UIMessage`, its lists included. */
export type UiMessage = { id: string; role: "user" | "assistant" | "system"; metadata?: unknown; parts: UiPart[] };

/** What an agent said in `initialize` that a prompt may hold. */
export type AcpPromptCapabilities = {
  readonly image?: boolean;
  readonly audio?: boolean;
  readonly embeddedContext?: boolean;
};

/**
 * A message of a person as the content of a prompt. Parts are foreign data: what is no text and no file is left out. A
 * file that the agent does not take is named in words. Throws an `Error` when nothing is left.
 */
export function acpPromptOf(
  message: { readonly parts: readonly { readonly type: string }[] },
  capabilities: AcpPromptCapabilities,
): readonly AcpContentBlock[] {
  const blocks = message.parts.flatMap((part) => blockOf(part as { readonly [name: string]: unknown }, capabilities));
  if (blocks.length === 0) throw new Error("The message has neither a text nor a file");
  return blocks;
}

const DATA_URL = /^data:([^,;]*)(?:;[^,;]*)*?;base64,/;

function blockOf(
  { type, text, url, mediaType, filename }: { readonly [name: string]: unknown },
  capabilities: AcpPromptCapabilities,
): readonly AcpContentBlock[] {
  if (type === "text") return typeof text === "string" && text !== "" ? [{ type: "text", text }] : [];
  if (type !== "file" || typeof url !== "string") return [];
  const name = typeof filename === "string" && filename !== "" ? filename : undefined;
  const said = typeof mediaType === "string" ? mediaType : undefined;
  const head = DATA_URL.exec(url.slice(0, LIMITS.titleCharacters));
  if (head === null) return url.startsWith("data:") ? [] : [linkOf(url, name, said)];
  const mimeType = said ?? head[1] ?? "application/octet-stream";
  const data = url.slice(head[0].length);
  if (mimeType.startsWith("image/") && capabilities.image === true) return [{ type: "image", mimeType, data }];
  if (mimeType.startsWith("audio/") && capabilities.audio === true) return [{ type: "audio", mimeType, data }];
  const uri = `file:///${encodeURIComponent(name ?? "file")}`;
  if (capabilities.embeddedContext === true) return [{ type: "resource", resource: { uri, mimeType, blob: data } }];
  return [{ type: "text", text: `(a file that cannot be shown: ${name ?? "without a name"}, ${mimeType})` }];
}

function linkOf(url: string, name: string | undefined, mimeType: string | undefined): AcpContentBlock {
  return { type: "resource_link", uri: url, name: name ?? url, ...(mimeType !== undefined && { mimeType }) };
}

/** Content of an agent, or of a person in a history that is shown again, as parts of a UI message. */
export function uiPartOf(block: AcpContentBlock, sourceId: string): UiTextPart | UiFilePart | UiSourcePart | undefined {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
    case "audio":
      return { type: "file", mediaType: block.mimeType, url: `data:${block.mimeType};base64,${block.data}` };
    case "resource_link": {
      const title = block.title ?? block.name;
      return { type: "source-url", sourceId, url: block.uri, ...(typeof title === "string" && { title }) };
    }
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return { type: "text", text: resource.text };
      const mediaType = resource.mimeType ?? "application/octet-stream";
      return { type: "file", mediaType, url: `data:${mediaType};base64,${resource.blob}` };
    }
    default:
      block satisfies never; // a newer agent may send what is not known here
      return undefined;
  }
}
