/** Files in messages as providers take them: by media type, with an honest text in place of what a model cannot read. */

import type { FilePart, Message, ModelCapabilities } from "@capstan/core";
import { type ProviderName, requestError } from "./errors.ts";

/** Blobs of a request by hash, in base64. */
export type Blobs = ReadonlyMap<string, string>;

/** Which files a model reads. */
export type FileOptions = {
  readonly images: boolean;
  /** Media types taken beside images. */
  readonly files: readonly string[];
  /** Whether results of calls may hold images and files. */
  readonly imageInToolResult: boolean;
};

export function fileOptions({ images, files = [], imageInToolResult }: ModelCapabilities): FileOptions {
  return { images: images !== false, files, imageInToolResult: imageInToolResult === true };
}

/** Images that every provider with images takes. */
export const IMAGES: readonly string[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const TEXT_TYPE = /^text\/|[/+](json|xml|yaml|javascript|typescript|toml|sql)$/;

/** Without parameters, in lower case, `image/jpg` corrected. */
export function mediaTypeOf(part: FilePart): string {
  const type = part.mediaType.replace(/;.*/, "").trim().toLowerCase();
  return type === "image/jpg" ? "image/jpeg" : type;
}

export function isImage(mediaType: string): boolean {
  return IMAGES.includes(mediaType);
}

export function isText(mediaType: string): boolean {
  return TEXT_TYPE.test(mediaType);
}

/** The bytes in base64; undefined for a URL and for a blob that is not at hand. */
export function base64Of(part: FilePart, blobs: Blobs): string | undefined {
  if (part.data.type === "base64") return part.data.base64;
  return part.data.type === "blob" ? blobs.get(part.data.hash) : undefined;
}

/** Address of the file: its own URL, or the bytes as a data URL. Undefined when the bytes are not at hand. */
export function fileUrl(part: FilePart, blobs: Blobs): string | undefined {
  if (part.data.type === "url") return part.data.url;
  const base64 = base64Of(part, blobs);
  return base64 === undefined ? undefined : `data:${mediaTypeOf(part)};base64,${base64}`;
}

/** The text of a text file whose bytes are at hand. */
export function fileText(part: FilePart, blobs: Blobs): string | undefined {
  const base64 = isText(mediaTypeOf(part)) ? base64Of(part, blobs) : undefined;
  return base64 === undefined ? undefined : Buffer.from(base64, "base64").toString();
}

/** What stands for a file that is not sent: `[File chart.png (image/png): this model cannot read it]`. */
export function fileMarker(part: FilePart, why: string): string {
  const type = mediaTypeOf(part);
  return `[File ${part.name === undefined ? type : `${part.name} (${type})`}: ${why}]`;
}

/** Why a file is not sent, for `fileMarker`. */
export const FILE_GAPS = {
  absent: "its bytes are not at hand",
  unreadable: "this model cannot read it",
  below: "see the message below",
  empty: "it is empty",
} as const;

/** What no provider takes inline: larger images and larger documents, in bytes. */
const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
const MAX_FILE_BYTES = 32 * 1024 * 1024;

/** Throws `model-invalid-request` for bytes that the provider would only refuse after they were sent. */
export function refuseTooLarge(provider: ProviderName, part: FilePart, base64: string): void {
  const bytes = Math.floor((base64.length * 3) / 4);
  const limit = mediaTypeOf(part).startsWith("image/") ? MAX_IMAGE_BYTES : MAX_FILE_BYTES;
  if (bytes <= limit) return;
  const size = `${Math.ceil(bytes / 1024 / 1024)} MB, at most ${limit / 1024 / 1024}`;
  throw requestError(provider, `${fileMarker(part, `too large for ${provider.label}: ${size}`)} Send a smaller one.`);
}

/** Hashes of the blobs that a message names, those inside of tool results included. */
export function blobsOf(message: Message): readonly string[] {
  const hashes: string[] = [];
  for (const part of message.parts) {
    for (const item of part.type === "tool-result" ? part.output.content : [part]) {
      if (item.type === "file" && item.data.type === "blob") hashes.push(item.data.hash);
    }
  }
  return hashes;
}

/** Loads blobs as base64. */
export async function loadBlobs(
  hashes: readonly string[],
  load: (hash: string) => Promise<Uint8Array>,
): Promise<Blobs> {
  const blobs = new Map<string, string>();
  for (const hash of new Set(hashes)) {
    const bytes = await load(hash);
    blobs.set(hash, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"));
  }
  return blobs;
}
