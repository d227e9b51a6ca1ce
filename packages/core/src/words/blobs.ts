/** Large bytes out of the log: file parts over the inline limit become content addressed blobs before the fact that names them. */

import { CapstanError } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import { type Part, text, type ToolOutput } from "./message.ts";

type BlobStore = { putBlob(bytes: Uint8Array): Promise<string> };

/** The same parts with large inline bytes stored; the same array when there are none. */
export async function keepBytes<P extends Part | ToolOutput["content"][number]>(
  store: BlobStore,
  parts: readonly P[],
): Promise<readonly P[]> {
  if (!parts.some(isLarge)) return parts;
  return Promise.all(parts.map((part) => keepPart(store, part)));
}

/**
 * The output with its large inline bytes stored; the same one, at once, when there are none. A blob that the store does not
 * have becomes a text that says so: as a file it would fail every later call of the model.
 */
export function keepOutput(
  store: BlobStore & { blob(hash: string): Promise<Uint8Array> },
  output: ToolOutput,
): ToolOutput | Promise<ToolOutput> {
  if (!output.content.some((part) => isLarge(part) || isBlob(part))) return output;
  const there = Promise.all(output.content.map((part) => orText(store, part)));
  return there.then((parts) => keepBytes(store, parts)).then((content) => ({ ...output, content }));
}

type OutputPart = ToolOutput["content"][number];
type BlobPart = OutputPart & { readonly data: { readonly type: "blob"; readonly hash: string } };

function isBlob(part: OutputPart): part is BlobPart {
  return part.type === "file" && part.data.type === "blob";
}

async function orText(store: { blob(hash: string): Promise<Uint8Array> }, part: OutputPart): Promise<OutputPart> {
  if (!isBlob(part)) return part;
  try {
    await store.blob(part.data.hash);
    return part;
  } catch (error) {
    if (!CapstanError.is(error, "blob-missing")) throw error;
    return text(`[A file is missing: there is no blob ${part.data.hash}]`);
  }
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
