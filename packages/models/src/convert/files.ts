/** Files of foreign messages: bytes that are base64, addresses that a provider may be given, a media type that is true. */

import { type FilePart, type Json, text, type TextPart } from "@capstan/core";
import { fileMarker } from "../provider/files.ts";
import { lookUp, stringOf } from "../provider/json.ts";
import type { Note } from "./draft.ts";

export type ForeignFile = {
  readonly base64?: string;
  readonly url?: string;
  /** Empty or a pattern such as `image/*`: taken from the bytes. */
  readonly mediaType: string;
  readonly name?: string;
};

/** The part, or the text that stands for a file that cannot be used. */
export function fileOf(file: ForeignFile): { readonly part?: FilePart; readonly gap: string } {
  const name = file.name === undefined || file.name === "" ? {} : { name: file.name };
  const mediaType = MEDIA_TYPE.test(file.mediaType) ? file.mediaType : undefined;
  const unnamed = { type: "file" as const, mediaType: mediaType ?? "application/octet-stream", ...name };
  const { url } = file;
  if (url !== undefined) {
    const part: FilePart = { ...unnamed, mediaType: mediaType ?? typeOfUrl(url), data: { type: "url", url } };
    return isWeb(url) ? { part, gap: "" } : { gap: fileMarker(part, "its address cannot be read") };
  }
  const base64 = cleanBase64(file.base64 ?? "");
  const part: FilePart = {
    ...unnamed,
    mediaType: mediaType ?? typeOfBytes(base64 ?? ""),
    data: { type: "base64", base64: base64 ?? "" },
  };
  return base64 === undefined ? { gap: fileMarker(part, "its bytes are damaged") } : { part, gap: "" };
}

/** The part, or the text that stands for it, which is told. */
export function readFile(file: ForeignFile, note: Note): FilePart | TextPart {
  const { part, gap } = fileOf(file);
  if (part !== undefined) return part;
  note("file-unreadable", gap);
  return text(gap);
}

/** The media type that a data URL names; "" for anything else. */
export function dataUrlType(url: Json | undefined): string {
  return /^data:([^;,]+)/.exec(stringOf(url))?.[1] ?? "";
}

const MEDIA_TYPE = /^[a-z]+\/[a-z0-9.+-]+(;.*)?$/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Standard base64 without white space; undefined when it is none, and for no bytes at all. */
function cleanBase64(given: string): string | undefined {
  const clean = given.replaceAll(/\s/g, "").replaceAll("-", "+").replaceAll("_", "/");
  return BASE64.test(clean) ? clean : undefined;
}

function isWeb(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && /^https?:/.test(url);
}

/** How base64 of each format begins. */
const BEGINNINGS: readonly (readonly [string, string])[] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["UklGR", "image/webp"],
  ["JVBERi", "application/pdf"],
];

function typeOfBytes(base64: string): string {
  return BEGINNINGS.find(([beginning]) => base64.startsWith(beginning))?.[1] ?? "application/octet-stream";
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
};

/** A picture unless its name says otherwise: nothing else is linked to without a type. */
function typeOfUrl(url: string): string {
  const extension = /\.([a-z]+)(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? "";
  return lookUp(EXTENSIONS, extension) ?? "image/jpeg";
}
