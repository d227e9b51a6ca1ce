/**
 * What a file costs a model at most, by its kind and its bytes. Rules of providers, end of 2025: Anthropic counts
 * width * height / 750, at most 4,784 tokens an image and about 3,000 of text a page of PDF beside the image of the page;
 * OpenAI 85 and 170 for each tile of 512 pixels, or up to 1,536 patches of 32 pixels by 2.46, gpt-4o-mini 2,833 and 5,667
 * a tile; Gemini 258 to 2,240 an image, 32 a second of sound and up to 300 a second of film.
 */

import type { FilePart } from "../words/message.ts";

const IMAGE_MOST = 5_000;
const IMAGE_LEAST = 1_200;
const PIXELS_PER_TOKEN = 700;
/** Of models whose images are counted by a larger unit: at most 8 tiles. */
const LARGE_TILES = /gpt-4o-mini/;
const LARGE_BASE = 2_833;
const LARGE_TILE = 5_667;
const LARGE_TILES_MOST = 8;

const PAGE = 5_000;
/** No provider takes more pages. */
const PAGES_MOST = 1_000;
/** Bytes of a page at most, where pages can be counted, and at least, where they cannot. */
const PAGE_BYTES_MOST = 204_800;
const PAGE_BYTES_LEAST = 2_048;

/** Sound has at least 8 kbit a second, film 64: tokens for each byte. */
const PER_BYTE: { readonly [kind: string]: number } = { audio: 0.032, video: 0.04 };

/** `model` is its id. `bytes` are absent when the provider fetches them: then undefined where nothing bounds the kind. */
export function fileTokens(
  { mediaType }: Pick<FilePart, "mediaType">,
  bytes: Uint8Array | undefined,
  model: string,
): number | undefined {
  const kind = mediaType.split("/", 1)[0] ?? "";
  if (kind === "image") return imageTokens(bytes === undefined ? undefined : imageSize(bytes), model);
  if (bytes === undefined) return undefined;
  if (mediaType === "application/pdf") return pagesOf(bytes) * PAGE;
  return Math.ceil(bytes.length * (PER_BYTE[kind] ?? 1)); // no text has more tokens than bytes
}

type Size = { readonly width: number; readonly height: number };

function imageTokens(size: Size | undefined, model: string): number {
  if (LARGE_TILES.test(model)) {
    const tiles = size === undefined ? LARGE_TILES_MOST : Math.ceil(size.width / 512) * Math.ceil(size.height / 512);
    return LARGE_BASE + LARGE_TILE * Math.min(LARGE_TILES_MOST, Math.max(1, tiles));
  }
  if (size === undefined) return IMAGE_MOST;
  return Math.min(IMAGE_MOST, Math.max(IMAGE_LEAST, Math.ceil((size.width * size.height) / PIXELS_PER_TOKEN)));
}

/** Width and height as PNG, GIF, WebP and JPEG say them in their first bytes. */
function imageSize(bytes: Uint8Array): Size | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const name = (at: number, length: number): string => String.fromCharCode(...bytes.subarray(at, at + length));
  if (bytes.length < 30) return undefined;
  if (name(1, 3) === "PNG") return { width: view.getUint32(16), height: view.getUint32(20) };
  if (name(0, 3) === "GIF") return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
  if (name(8, 4) === "WEBP") return webpSize(view, name(12, 4));
  return view.getUint16(0) === 0xffd8 ? jpegSize(view) : undefined;
}

function webpSize(view: DataView, chunk: string): Size | undefined {
  const three = (at: number): number => view.getUint16(at, true) + view.getUint8(at + 2) * 65_536;
  if (chunk === "VP8X") return { width: three(24) + 1, height: three(27) + 1 };
  if (chunk === "VP8 ") return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  if (chunk !== "VP8L") return undefined;
  const bits = view.getUint32(21, true);
  return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
}

/** Segment after segment up to the frame header, which says the size. */
function jpegSize(view: DataView): Size | undefined {
  for (let at = 2; at + 9 < view.byteLength; at += 2 + view.getUint16(at + 2)) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
  }
  return undefined;
}

/** Pages that the file says it has, or could have by its size where its objects are packed. */
function pagesOf(bytes: Uint8Array): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  const single = text.match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 0;
  const counts = Array.from(text.matchAll(/\/Count\s+(\d{1,9})/g), ([, count]) => Number(count));
  const said = counts.reduce((most, count) => Math.max(most, count), single);
  const packed = /\/ObjStm/.test(text) && single === 0;
  const bySize = Math.ceil(bytes.length / (packed || said === 0 ? PAGE_BYTES_LEAST : PAGE_BYTES_MOST));
  return Math.min(PAGES_MOST, Math.max(1, said, bySize));
}
