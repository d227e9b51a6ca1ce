/** An output of ours as the result that an MCP client reads. */

import type { Json, ToolOutput } from "@capstan/core";
import type { CallToolResult } from "@modelcontextprotocol/server";

export function toCallResult({ content, output, isError }: ToolOutput): CallToolResult {
  const structured = typeof output === "object" && output !== null && !Array.isArray(output);
  return {
    content: content.map((part) => blockOf(part)),
    ...(structured && { structuredContent: output as { readonly [name: string]: Json } }),
    ...(isError === true && { isError: true }),
  };
}

type Block = CallToolResult["content"][number];

function blockOf(part: ToolOutput["content"][number]): Block {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "diff":
      return { type: "text", text: `${part.path} now holds:\n${part.after}` };
    case "file": {
      const { data, mediaType, name } = part;
      if (data.type === "url")
        return { type: "resource_link", uri: data.url, name: name ?? data.url, mimeType: mediaType };
      if (data.type === "blob")
        return { type: "text", text: `[a file of ${data.size} bytes, ${mediaType}, is kept in the session]` };
      if (mediaType.startsWith("image/")) return { type: "image", data: data.base64, mimeType: mediaType };
      if (mediaType.startsWith("audio/")) return { type: "audio", data: data.base64, mimeType: mediaType };
      const uri = `file:///${encodeURIComponent(name ?? "file")}`;
      return { type: "resource", resource: { uri, mimeType: mediaType, blob: data.base64 } };
    }
    default:
      return part satisfies never;
  }
}
