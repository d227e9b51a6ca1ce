/** Large bytes out of the log: file parts over the inline limit become content addressed blobs before the fact that names them. */

import { CapstanError } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import type { Part, ToolOutput } from "./message.ts";

type BlobStore = { putBlob(bytes: Uint8Array): Promise<string> };

/** The same parts with large inline bytes stored; the same array when there are none. */
export async function keepBytes<P extends Part | ToolOutput["content"][number]>(
  store: BlobStore,
  parts: readonly P[],
): Promise<readonly P[]> {
  if (!parts.some(isLarge)) return parts;
  return Promise.all(parts.map((part) => keepPart(store, part)));
}

/** The output with its large inline bytes stored; the same one, at once, when there are none. */
export function keepOutput(store: BlobStore, output: ToolOutput): ToolOutput | Promise<ToolOutput> {
  if (!output.content.some(isLarge)) return output;
  return keepBytes(store, output.content).then((content) => ({ ...output, content }));
}

function isLarge(part: Part | ToolOutput["content"][number]): boolean {
  return part.type === "file" && part.data.type === "base64" && part.data.base64.length * 0.75 > LIMITS.inlineBytes;
}

async function keepPart<P extends Part | ToolOutput["content"][number]>(store: BlobStore, part: P): Promise<P> {
  if (!isLarge(part) || part.type !== "file" || part.data.type !== "base64") return part;
  const bytes = Buffer.from(part.data.base64, "base64");
  if (bytes.length > LIMITS.blobBytes) {
    throw new CapstanError(
      "blob-too-large",
      `A file of ${bytes.length} bytes is over the limit of ${LIMITS.blobBytes}; send a smaller one`,
    );
  }
  const hash = await store.putBlob(bytes);
  return { ...part, data: { type: "blob", hash, size: bytes.length } };
}
