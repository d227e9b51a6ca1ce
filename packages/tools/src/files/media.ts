/** Images and PDFs for a model to look at. What a provider would refuse is not shown: it would spoil every later request. */

import { crc32 } from "node:zlib";
import { text, type ToolOutput } from "@capstan/core";
import { count, failure, shownPath } from "../tool-answer.ts";
import { TOOL_LIMITS } from "../tool-limits.ts";

/** What a file is by its first bytes, and how large it may be. */
export type MediaKind = {
  readonly mediaType: string;
  readonly maxBytes: number;
  readonly look: (file: Buffer) => Look;
};
/** `size` in pixels, of images; `wrong` is the end of a sentence about the file. */
type Look = { readonly size?: readonly [width: number, height: number]; readonly wrong?: string };

/** Bytes of a file that `mediaKind` needs. */
export const FIRST_BYTES = 16;
const { imageBytes, imagePixels, pdfBytes } = TOOL_LIMITS;
const CUT: Look = { wrong: "is cut off or damaged" };

export function mediaKind(first: Uint8Array): MediaKind | undefined {
  const start = Buffer.from(first).toString("latin1");
  const image = (type: string, look: MediaKind["look"]): MediaKind => ({
    mediaType: `image/${type}`,
    maxBytes: imageBytes,
    look,
  });
  if (start.startsWith("\x89PNG")) return image("png", lookAtPng);
  if (start.startsWith("\xff\xd8\xff")) return image("jpeg", lookAtJpeg);
  if (start.startsWith("GIF87a") || start.startsWith("GIF89a")) return image("gif", lookAtGif);
  if (start.startsWith("RIFF") && start.slice(8, 12) === "WEBP") return image("webp", lookAtWebp);
  return start.startsWith("%PDF-") ? { mediaType: "application/pdf", maxBytes: pdfBytes, look: lookAtPdf } : undefined;
}

/** The file as an output: what it is in words, and itself. */
export function mediaOutput({ mediaType, look }: MediaKind, bytes: Uint8Array, path: string): ToolOutput {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { size, wrong } = look(file);
  const named = shownPath(path);
  if (wrong !== undefined) return failure(`${named} begins as ${mediaType}, but ${wrong}.`);
  if (size?.some((side) => side < 1 || side > imagePixels) === true)
    return failure(
      `${named} is ${size.join(" x ")} pixels; at most ${imagePixels} a side are shown. Scale a copy down.`,
    );
  const said = size === undefined ? "" : `, ${size.join(" x ")} pixels`;
  const name = path.slice(path.lastIndexOf("/") + 1);
  return {
    content: [
      text(`${named}: ${mediaType}, ${count(file.length, "byte")}${said}.`),
      { type: "file", mediaType, name, data: { type: "base64", base64: file.toString("base64") } },
    ],
  };
}

/** Every chunk with its checksum, from the header to the end. */
function lookAtPng(file: Buffer): Look {
  if (file.length < 33 || file.toString("latin1", 12, 16) !== "IHDR") return CUT;
  for (let at = 8; at + 12 <= file.length;) {
    const data = at + 8 + file.readUInt32BE(at);
    if (data + 4 > file.length || crc32(file.subarray(at + 4, data)) !== file.readUInt32BE(data)) return CUT;
    if (file.toString("latin1", at + 4, at + 8) === "IEND")
      return { size: [file.readUInt32BE(16), file.readUInt32BE(20)] };
    at = data + 4;
  }
  return CUT;
}

/** Segment after segment to the picture, which must have an end. */
function lookAtJpeg(file: Buffer): Look {
  let size: Look["size"];
  for (let at = 2; at + 9 < file.length && file[at] === 0xff;) {
    const marker = file[at + 1] ?? 0;
    if (marker === 0xff) {
      at += 1; // filling
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) size = [file.readUInt16BE(at + 7), file.readUInt16BE(at + 5)];
    if (marker === 0xda)
      return size === undefined || file.lastIndexOf("\xff\xd9", undefined, "latin1") < at ? CUT : { size };
    at += 2 + file.readUInt16BE(at + 2);
  }
  return CUT;
}

function lookAtGif(file: Buffer): Look {
  if (file.length < 14 || file.lastIndexOf(0x3b) < 13) return CUT;
  return { size: [file.readUInt16LE(6), file.readUInt16LE(8)] };
}

function lookAtWebp(file: Buffer): Look {
  if (file.length < 30 || file.readUInt32LE(4) + 8 > file.length) return CUT;
  switch (file.toString("latin1", 12, 16)) {
    case "VP8X":
      return { size: [file.readUIntLE(24, 3) + 1, file.readUIntLE(27, 3) + 1] };
    case "VP8 ":
      return { size: [file.readUInt16LE(26) & 0x3fff, file.readUInt16LE(28) & 0x3fff] };
    case "VP8L": {
      const bits = file.readUInt32LE(21);
      return { size: [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1] };
    }
    default:
      return CUT;
  }
}

/** Where the end of a PDF is looked for: readers allow as much behind it. */
const PDF_END_BYTES = 1_024;

function lookAtPdf(file: Buffer): Look {
  if (file.lastIndexOf("%%EOF") < Math.max(1, file.length - PDF_END_BYTES)) return CUT;
  if (file.includes("/Encrypt")) return { wrong: "is encrypted. Ask the user for a copy without a password" };
  return {};
}
